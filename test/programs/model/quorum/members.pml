/*
 * The list of the members (`membership.ts`). Stores are emptied, or replaced by others, and taken in under a new marker, while
 * two processes write one election. README.md in the folder above says what is modelled, and what is not.
 *
 * There are two replicated records, the roster and the election. Each is written by rounds as in `quorum.pml`. To be small, a
 * round reads and prepares in one step. Its accepts arrive at each member separately, at any time or never.
 */

#define MEMBERS 3
#define MAJORITY 2
#define PROCESSES 2
/* The members' stores when the run begins, and those that B may have in place of the last ones. */
#if defined(SHARES_ONE) || defined(MOVES)
#define STORES 5
#else
#define STORES 4
#endif
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
/* The number of puts of each process. */
#ifndef PUTS_A
#define PUTS_A 1
#endif
#ifndef PUTS_B
#define PUTS_B 1
#endif
/* The number of times that the last member's store is emptied. */
#ifndef WIPES
#define WIPES 0
#endif
#define WRITES 8
#define ROSTERS 6
/* The number of rosters that are proposed. */
#ifndef LAST_ROSTER
#define LAST_ROSTER 3
#endif

/* The marker that a read has shown of a store: not read yet, or no marker. Other markers are numbered. */
#define UNKNOWN 0
#define NO_MARKER 1
#define MARKERS 8

/* The state of a round's accept at one member. */
#define NOT_SENT 0 /* it may be caught up */
#define SENT 1
#define TAKEN 2
#define REFUSED 3
#define UNHEARD 4 /* accepted, and the reply is lost */

/* A store's state of one record. Every write changes it, so it also serves as the version. */
typedef Kept {
  bool exists;
  byte promised;
  byte accepted;
  byte write; /* in the roster's record: the roster */
  byte roster; /* by which it was written */
  byte marker; /* that this roster gives the member */
  byte seen /* FORGETS: the highest promise of the last member that the writer knew */
}

typedef Store {
  byte marker; /* 0: none */
  Kept kept[RECORDS]
}

typedef Link {
  byte state; /* NOT_SENT to UNHEARD */
  Kept own /* what this round has written there last; an accept replaces only that */
}

/* A round of one process on one record: none, or one that has prepared. */
typedef Round {
  bool isOpen;
  bool isConfirmed;
  bool leads; /* its confirmed write may be replaced without a prepare */
  byte ballot;
  byte proposed;
  byte roster; /* with which it began */
  byte seen; /* FORGETS: the highest promise of the last member that its process knew */
  byte pending; /* a write of its own that may have been accepted */
  Link to[MEMBERS]
}

typedef Process {
  byte roster; /* that it uses; 0: none */
  byte shown[MEMBERS]; /* the marker of each member's store, as read last */
  byte rosters[MEMBERS]; /* the roster of each member, as read last */
  byte lastBallot[RECORDS];
  byte known; /* FORGETS: the highest promise of the roster that the last member is known to have made */
  byte puts;
  bool follows; /* it has found that there is a newer one */
  bool mayFound; /* it has found that no roster was written */
  Round on[RECORDS];
  /* A write that creates a record, or one that was given up. It may arrive at any time. */
  bool isLate;
  byte lateStore;
  byte lateRecord;
  Kept lateBefore;
  Kept late
}

/* The list of the members. Its number is 0 if it is a claim, with which a quorum begins. */
typedef Roster {
  byte number;
  byte marker[MEMBERS];
  byte later; /* a bit for each member whose store has replaced another one */
  byte past; /* a bit for each marker of a store that was replaced */
  byte base /* the roster that it has replaced */
}

Store store[STORES];
Process process[PROCESSES];
Roster rosters[ROSTERS];
byte lastRoster;
byte lastMarker;
byte base[WRITES]; /* the write that each write replaces */
byte lastWrite;
byte wipesLeft;
#ifdef FORGETS
/* A former state of the last member's roster. The member forgets what came after it. */
Kept backup;
bool isBackedUp;
bool hasForgotten;
#endif
#ifdef MARKS_NOTHING
byte firstMarker; /* of that store, given by a request that may arrive again */
#endif
byte restartsLeft;

/* The writes, and the rosters except for claims, that some process was told to be chosen. No process knows this. */
byte told[RECORDS];
bool isWrong;

/* The steps that may be taken. */
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

/* A step that may be taken, and the claims after it. The possible steps are computed again after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> (what)) & 1)

/* A round, the members that answer its read, and the members that answer its prepare. */
#define ROUND(record, asked, hearing) STEP(CAN(record), beginRound(Pprocess_->me, record, asked, hearing))
/* The outcome of a round's accept at one member. */
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

/* The faults of the last member's store. */
proctype surroundings() {
end:
  do
  :: STEP(canBefall & 1, wipe())
#ifdef MARKS_NOTHING
  :: STEP(canBefall & 2, markAgain())
#endif
#ifdef FORGETS
  :: STEP(canBefall & 4, backUp())
  :: STEP(canBefall & 8, forget())
#endif
  od
}
