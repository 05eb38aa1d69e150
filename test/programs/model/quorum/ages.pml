/*
 * How old a nonce is by the members' clocks (`ageOf` in `chosen.ts`, and `keepsNonce` in `member.ts`). No process may take over
 * by these clocks while another one is valid. README.md in the folder above says what is modelled, and what is not.
 *
 * Each member dates the nonce that it keeps. Two processes renew one lease, take it over, and write orders, which keep its nonce.
 * A round reads and prepares in one step. Its accepts arrive at each member separately, at any time or never.
 */

#define MEMBERS 3
#define MAJORITY 2
#define PROCESSES 2

/* The units by which a clock advances in a tick: SLOW for a holder, FAST for a member. */
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

/* The purpose of a round. */
#define REPAIR 0 /* to complete what the members are split over */
#define RENEWAL 1
#define TAKEOVER 2
#define ORDER 3

/* The state of a round's accept at one member. */
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
  short age /* of its nonce, by its own clock; LEASE stands for every higher age */
}

typedef Link {
  byte state; /* NOT_SENT to UNHEARD */
  Kept own /* what this round has written there last; an accept replaces only that */
}

typedef Process {
  bool leads;
  short held; /* since the send of the nonce that its lease counts from */
  byte pending; /* its last write, whose outcome it does not know */
  short sent; /* since that was begun; VALID stands for every longer time */
  /* The round of this process. */
  bool isOpen;
  bool isConfirmed;
  bool redates; /* it makes each member restart the age, even of a nonce that the member keeps already */
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
/* The steps that may be taken. */
short can[PROCESSES];

#include "ages-rounds.pml"

init {
  d_step { c_code { begin(); } }
  atomic { run time(); run process_(1); run process_(0) }
}

/* A step that may be taken, and the claims after it. The possible steps are computed again after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> (what)) & 1)
/* A round, and the members that answer it. */
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

/* A slow clock of a holder and a fast clock of a member allow the most. */
proctype time() {
end:
  do
  :: d_step { printf("\nTICK %d %d %d %d", SLOW, FAST, SLOW, FAST); c_code { tick(); afterwards(); }; assert(!isWrong) }
  od
}
