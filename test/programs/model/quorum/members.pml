/*
 * Who the members are (`membership.ts`): stores that are emptied, or replaced by others, and taken in under a new marker, while two
 * processes write one election. README.md in the folder above says what is modelled, and what not.
 *
 * There are two replicated records, the roster and the election, each written by rounds as in `quorum.pml`. To be small, a round
 * reads and prepares in one step; what it has members accept arrives at each by itself, at any time, or never.
 */

#define MEMBERS 3
#define MAJORITY 2
#define PROCESSES 2
/* The members' stores when the run begins, and one that B may have in place of the last. */
#define STORES 4
#define ROSTER 0
#define ELECTION 1
#define RECORDS 2

/* The highest ballot that is prepared. Each round has two ballots, one of each process; the run begins after ballot 2. */
#ifndef LAST_BALLOT
#define LAST_BALLOT 6
#endif
#ifndef LAST_ROSTER_BALLOT
#define LAST_ROSTER_BALLOT 6
#endif
#define BALLOTS 32
/* How many puts each process makes. */
#ifndef PUTS_A
#define PUTS_A 1
#endif
#ifndef PUTS_B
#define PUTS_B 1
#endif
/* How often the last member's store is emptied. */
#ifndef WIPES
#define WIPES 0
#endif
#define WRITES 8
#define ROSTERS 6
/* How many rosters are proposed. */
#ifndef LAST_ROSTER
#define LAST_ROSTER 3
#endif

/* What a look has shown of a store's marker: nothing yet, or that it has none. Others are numbered. */
#define UNKNOWN 0
#define NO_MARKER 1
#define MARKERS 8

/* What has become of the accept of a round at one member. */
#define NOT_SENT 0 /* it may be caught up */
#define SENT 1
#define TAKEN 2
#define REFUSED 3
#define UNHEARD 4 /* accepted, and the reply is lost */

/* What a store keeps of one record. Every write changes it, so that it does for the version, too. */
typedef Kept {
  bool exists;
  byte promised;
  byte accepted;
  byte write; /* of the roster's record: the roster */
  byte roster; /* by which it was written */
  byte marker /* what that said of this member */
}

typedef Store {
  byte marker; /* 0: none */
  Kept kept[RECORDS]
}

typedef Link {
  byte state; /* NOT_SENT to UNHEARD */
  Kept own /* what this round has written there last: an accept replaces that, and nothing else */
}

/* A round of one process on one record: none, or one that has prepared. */
typedef Round {
  bool isOpen;
  bool isConfirmed;
  bool leads; /* what it had confirmed may be replaced without a prepare */
  byte ballot;
  byte proposed;
  byte roster; /* by which it began */
  byte pending; /* a write of its own that may have been accepted */
  Link to[MEMBERS]
}

typedef Process {
  byte roster; /* that it goes by; 0: it knows none */
  byte shown[MEMBERS]; /* the marker of each member's store, as it was shown last */
  byte rosters[MEMBERS]; /* the roster that each has shown last */
  byte lastBallot[RECORDS];
  byte puts;
  bool follows; /* it has found that there is a newer one */
  bool mayFound; /* it has found that nobody has written a roster */
  Round on[RECORDS];
  /* A write that creates a record, or one that was given up: it may arrive at any time. */
  bool isLate;
  byte lateStore;
  byte lateRecord;
  Kept lateBefore;
  Kept late
}

/* Who the members are. */
typedef Roster {
  byte number;
  byte marker[MEMBERS];
  byte later; /* a bit for each member whose store has come in place of another */
  byte past; /* a bit for each marker of a store that was replaced */
  byte base /* the roster that it has replaced */
}

Store store[STORES];
Process process[PROCESSES];
Roster rosters[ROSTERS];
byte lastRoster;
byte lastMarker;
byte base[WRITES]; /* of each write */
byte lastWrite;
byte wipesLeft;
#ifdef MARKS_NOTHING
byte firstMarker; /* of that store, given by a request that may arrive again */
#endif
byte restartsLeft;

/* What nobody knows: which writes, and which rosters, anybody was told to be chosen. */
byte told[RECORDS];
bool isWrong;

/* Which steps may be taken. */
int can[PROCESSES];
byte canBefall;

#include "members-claims.pml"
#include "members-rounds.pml"
#include "members-roster.pml"
#include "members-steps.pml"

init {
  d_step { c_code { begin(); } }
  atomic { run surroundings(); run process_(1); run process_(0) }
}

/* A step that may be taken, and what has to hold after it. Which may be taken is worked out after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> (what)) & 1)

/* A round: who answers the read, and who its prepare. */
#define ROUND(record, asked, hearing) STEP(CAN(record), beginRound(Pprocess_->me, record, asked, hearing))
/* What a round comes to at one member. */
#define SENT_TO(nth, isHeard) STEP(CAN(2 + nth), arrive(Pprocess_->me, nth / MEMBERS, nth % MEMBERS, isHeard))
#define CAUGHT_UP(nth) STEP(CAN(8 + nth), catchUp(Pprocess_->me, nth / MEMBERS, nth % MEMBERS, 1))
#define CAUGHT_UP_LATE(nth) STEP(CAN(14 + nth), catchUp(Pprocess_->me, nth / MEMBERS, nth % MEMBERS, 0))
#define MARKED(i) STEP(CAN(22 + i), mark(Pprocess_->me, i))

proctype process_(byte me) {
end:
  do
  :: ROUND(ROSTER, 7, 7) :: ROUND(ROSTER, 3, 3)
  :: ROUND(ELECTION, 7, 7) :: ROUND(ELECTION, 7, 3) :: ROUND(ELECTION, 3, 3)
#ifdef FOUNDING
  :: ROUND(ROSTER, 7, 6) :: ROUND(ROSTER, 7, 5) :: ROUND(ROSTER, 7, 3)
#endif
  :: ROUND(ROSTER, 6, 6) :: ROUND(ROSTER, 5, 5)
  :: ROUND(ELECTION, 7, 6) :: ROUND(ELECTION, 7, 5) :: ROUND(ELECTION, 6, 6) :: ROUND(ELECTION, 5, 5)
  :: SENT_TO(0, 1) :: SENT_TO(1, 1) :: SENT_TO(2, 1) :: SENT_TO(3, 1) :: SENT_TO(4, 1) :: SENT_TO(5, 1)
#ifdef LOST_REPLIES
  :: SENT_TO(0, 0) :: SENT_TO(1, 0) :: SENT_TO(2, 0) :: SENT_TO(3, 0) :: SENT_TO(4, 0) :: SENT_TO(5, 0)
#endif
  :: CAUGHT_UP(0) :: CAUGHT_UP(1) :: CAUGHT_UP(2) :: CAUGHT_UP(3) :: CAUGHT_UP(4) :: CAUGHT_UP(5)
  :: CAUGHT_UP_LATE(0) :: CAUGHT_UP_LATE(1) :: CAUGHT_UP_LATE(2) :: CAUGHT_UP_LATE(3) :: CAUGHT_UP_LATE(4) :: CAUGHT_UP_LATE(5)
  :: STEP(CAN(20), goOn(Pprocess_->me))
  :: STEP(CAN(21), arriveLate(Pprocess_->me))
  :: MARKED(0) :: MARKED(1) :: MARKED(2)
  :: STEP(CAN(25), restart(Pprocess_->me))
  od
}

/* What befalls the last member's store. */
proctype surroundings() {
end:
  do
  :: STEP(canBefall & 1, wipe())
#ifdef MARKS_NOTHING
  :: STEP(canBefall & 2, markAgain())
#endif
  od
}
