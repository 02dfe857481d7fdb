"""The provider dsh-headless with the real harness and a scripted model."""
