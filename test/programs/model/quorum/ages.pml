/*
 * How old a nonce is by the members' clocks, and that nobody takes over by those while somebody else is valid (`ageOf` in `chosen.ts`, and
 * `keepsNonce` in `member.ts`). README.md in the folder above says what is modelled, and what not.
 *
 * Each member dates the nonce that it keeps. Two processes renew one lease, take it over, and write orders, which keep its nonce. A
 * round reads and prepares in one step; what it has members accept arrives at each by itself, at any time, or never.
 */

#define MEMBERS 3
#define MAJORITY 2
#define PROCESSES 2

/* How many units a clock advances in a tick: a slow one of a holder, a fast one of a member. */
#define FAST 100
#ifndef SLOW
#define SLOW 90
#endif
#define LEASE 200
/* A holder leaves a tenth of its lease unused. */
#define VALID 180

#ifndef LAST_BALLOT
#define LAST_BALLOT 9
#endif
#ifndef LAST_WRITE
#define LAST_WRITE 3
#endif
#define WRITES 8

/* What a round is for. */
#define REPAIR 0 /* to complete what the members are split over */
#define RENEWAL 1
#define TAKEOVER 2
#define ORDER 3

/* What has become of the accept of a round at one member. */
#define NOT_SENT 0 /* it may be caught up */
#define SENT 1
#define TAKEN 2
#define REFUSED 3
#define UNHEARD 4 /* accepted, and the reply is lost */

typedef Kept {
  byte promised;
  byte accepted;
  byte write
}

typedef Member {
  Kept kept;
  short age /* of the nonce that it keeps, by its own clock; LEASE: it does not matter how old */
}

typedef Link {
  byte state; /* NOT_SENT to UNHEARD */
  Kept own /* what this round has written there last: an accept replaces that, and nothing else */
}

typedef Process {
  bool leads;
  short held; /* since the send of the nonce that its lease counts from */
  byte pending; /* the write that it has sent last, of whose fate it has not heard */
  short sent; /* since that was begun; VALID: it does not matter how long */
  /* Its round. */
  bool isOpen;
  bool isConfirmed;
  bool redates; /* it has each member count the age anew, even of a nonce that that keeps */
  byte ballot;
  byte lastBallot;
  byte proposed;
  Link to[MEMBERS]
}

Member member[MEMBERS];
Process process[PROCESSES];
/* Of each write. */
byte base[WRITES];
byte owner[WRITES];
byte nonce[WRITES];
byte lastWrite;
bool isWrong;
/* Which steps may be taken. */
short can[PROCESSES];

#include "ages-rounds.pml"

init {
  d_step { c_code { begin(); } }
  atomic { run time(); run process_(1); run process_(0) }
}

/* A step that may be taken, and what has to hold after it. Which may be taken is worked out after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> (what)) & 1)
/* A round: who answers it. */
#define ROUND(kind, set) STEP(CAN(kind), beginRound(Pprocess_->me, kind, set))

proctype process_(byte me) {
end:
  do
  :: ROUND(REPAIR, 7) :: ROUND(REPAIR, 6) :: ROUND(REPAIR, 5) :: ROUND(REPAIR, 3)
  :: ROUND(RENEWAL, 7) :: ROUND(RENEWAL, 6) :: ROUND(RENEWAL, 5) :: ROUND(RENEWAL, 3)
  :: ROUND(TAKEOVER, 7) :: ROUND(TAKEOVER, 6) :: ROUND(TAKEOVER, 5) :: ROUND(TAKEOVER, 3)
  :: ROUND(ORDER, 7) :: ROUND(ORDER, 6) :: ROUND(ORDER, 5) :: ROUND(ORDER, 3)
  :: STEP(CAN(4), goOn(Pprocess_->me))
  :: STEP(CAN(5), arrive(Pprocess_->me, 0, 1)) :: STEP(CAN(6), arrive(Pprocess_->me, 1, 1)) :: STEP(CAN(7), arrive(Pprocess_->me, 2, 1))
#ifndef NO_LOST_REPLIES
  :: STEP(CAN(5), arrive(Pprocess_->me, 0, 0)) :: STEP(CAN(6), arrive(Pprocess_->me, 1, 0)) :: STEP(CAN(7), arrive(Pprocess_->me, 2, 0))
#endif
  :: STEP(CAN(8), catchUp(Pprocess_->me, 0)) :: STEP(CAN(9), catchUp(Pprocess_->me, 1)) :: STEP(CAN(10), catchUp(Pprocess_->me, 2))
  od
}

/* A holder's clock that is slow and a member's that is fast give the most leeway. */
proctype time() {
end:
  do
  :: d_step { printf("\nTICK %d %d %d %d", SLOW, FAST, SLOW, FAST); c_code { tick(); afterwards(); }; assert(!isWrong) }
  od
}
