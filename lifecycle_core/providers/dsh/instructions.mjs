// The admitted instructions, a section of the system text of their own and to the letter: nothing in them is a variable.
import { readFileSync } from 'node:fs'

export const name = 'admitted-instructions'
export const inject = ['systemPrompt']

export function apply(ctx) {
  const text = readFileSync(process.env.ADMITTED_INSTRUCTIONS, 'utf8')
  ctx.systemPrompt.section({ name: 'workflow:admitted-instructions', order: 10, interpolate: false, text })
}
