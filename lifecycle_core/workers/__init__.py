"""Who runs turns. A worker only wakes and drives; the lease in the journal decides who may."""
