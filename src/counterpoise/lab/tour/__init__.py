"""The guided tour: one simulated arm with hidden faults, from its first recording to fine motion."""
