"""What the timeline tells of a server, also inside a stretch of steps."""

from fleets import asked, fleet, served


def test_every_interval_with_a_step_has_a_sample_also_inside_a_stretch_of_decode_steps() -> None:
    """A second of prefill, then 300 steps of 10 ms: boundaries in each second up to the end at
    4.00 s, where nobody runs any more. 8 tokens of prompt fill two blocks of four; the step that
    begins at 2 s computes the 101st token of the output, the one at 3 s the 201st."""
    run = fleet()
    served(run, asked(0, [1, 2], output=301))

    (intervals,) = run.timeline.servers
    loads = [(second, one.running, one.used_blocks) for second, one in sorted(intervals.items())]
    assert loads == [(0, 1, 2), (1, 1, 3), (2, 1, 28), (3, 1, 53), (4, 0, 0)]
