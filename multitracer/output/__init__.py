"""Results as other programs and notebooks meet them: the JSON contract, the digest, `Analysis`."""
