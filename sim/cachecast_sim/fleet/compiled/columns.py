"""What the columns of the kernels' tables mean. Everything in them is a signed 64-bit integer.

NONE stands where Python would have None: a row number is never negative. Times are nanoseconds.
"""

NONE = -1
NEVER = 1 << 62  # a time that does not come

# a job
PROMPT, OUTPUT, KNOWN = 0, 1, 2  # tokens, tokens, blocks with content that others may share
PATH, PATH_END = 3, 4  # rows of the table of pieces
GENERATED, COMPUTED, REMAINING = 5, 6, 7  # as in `fleet.job.Job`, and so on
HELD, BLOCKS, FILLED = 8, 9, 10  # HELD: the latest holding
JOINED, FINISH, LAST_TOKEN = 11, 12, 13
NEXT = 14  # the job that waits behind it
DECODES = 15  # 1 while it is in the decode group
SCHEDULED, FIRST_TOKEN, END = 16, 17, 18
HIT, HERE, SOMEWHERE = 19, 20, 21  # blocks at its first admission: hit, ever here, ever anywhere
PREEMPTIONS = 22
JOB = 23

# a piece of a path: a segment, NONE for the job's own, and the blocks [low, high)
SEGMENT, PIECE_LOW, PIECE_HIGH = 0, 1, 2
PIECE = 3

# a server; its running jobs stand in a row of their own, in the order of admission
WAITING, WAITING_LAST, RUNNING, DECODING = 0, 1, 2, 3  # first and last job; how many jobs
CONTEXT, GROUP_STEPS, NEXT_FINISH = 4, 5, 6  # of its decode group
PARTIAL = 7  # the job whose prompt goes on in the next step
BUSY, DURATION, STEPS = 8, 9, 10
TOKENS, REQUESTS, PAIRS = 11, 12, 13  # prefilled in the step that runs
COMPLETING = 14  # the last so many running jobs end their prompt with this step
BLOCKED = 15  # 1: the first that waits did not fit, and nothing has changed for it since
BUDGET, BESIDE, BESIDE_CONTEXT = 16, 17, 18  # of an admission that waits for larger tables
SAMPLE = 19  # when its load is to be told next
UNHASHED, QUEUED, USABLE, EVICTED = 20, 21, 22, 23  # blocks
PREEMPTED = 24
FILLING = 25  # its decoding jobs that fill blocks which others may find
SERVER = 26

# a run of cached blocks; rows below the number of servers are the ends of their free queues
RESIDENCE, LOW, HIGH, USERS, LOWER = 0, 1, 2, 3, 4
BEFORE, AFTER, FREED = 5, 6, 7  # in the free queue
OLDER, YOUNGER = 8, 9  # in its residence
EXTENT = 10

# what one job holds of an extent, and what it held before that
HOLDS, HOLDS_LOW, HOLDS_HIGH, EARLIER = 0, 1, 2, 3
HOLDING = 4

# what one server has of a segment
OLDEST, YOUNGEST, EXTENTS, HELD_TO = 0, 1, 2, 3
RESIDENT = 4

# all servers together: limits, then the heads of the lists of unused rows and how long those are
BLOCK_TOKENS, MAX_BATCH, MAX_SEQS, SERVERS, SEGMENTS, MOST_PIECES = 0, 1, 2, 3, 4, 5
FREE_EXTENT, FREE_EXTENTS, FREE_HOLDING, FREE_HOLDINGS = 6, 7, 8, 9
TOLD, GAPS = 10, 11  # rows of these tables in use
STOP_AT_END = 12  # 1: come back whenever a job has ended
RESUME = 13  # the server whose admission waits for larger tables
SAMPLED, NOW = 14, 15  # the server whose load is to be told, and the time of its boundary
TIMES_BITS = 16  # a row of gaps is a length shifted by so many bits, and how often it came
WORLD = 17

LENGTH_BITS = 62  # of such a row, with those

# what is told of jobs, in order
ENDED, READMITTED = 0, 1  # at that time; having found so many tokens again
LONG_GAP = 2  # so many gaps (instead of a job) of a length that has no room in a row of gaps
TELLING = 3  # kind, job, value

# why a kernel came back
DONE, SAMPLING, TELL, GROW, TOO_LATE, GO_ON = 0, 1, 2, 3, 4, 5
