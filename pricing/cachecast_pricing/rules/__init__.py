"""Each provider's cache rules as pure state machines with an explicit `now_us`."""
