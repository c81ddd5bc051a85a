"""The Radio Link Protocol of GSM (GSM 04.22, now 3GPP TS 24.022): frames, and the two halves of an entity."""
