"""What stands in for the outside, shipped: scripted model servers, endpoints, carriers, and the demo's agents."""
