/*
 * Servers that keep nothing: each start is like one after a loss, and several may be at once. A server begins again when a lease has
 * passed since its start, and both others have told it: what they know, or, where none knows anything, that. Then the clock
 * gives the first term; nobody votes for a term further than a lease ahead of it. A server may have a clock that is set back when it
 * begins, but for a start of all.
 */

#ifdef UNKEPT
#ifndef STARTS
#define STARTS 3
#endif
#ifndef SPAN
#define SPAN 4
#endif
#define MAY_RESTART (startsLeft > 0 && !V.forgot)
#define MAY_TICK (ticksLeft > 0)
#define START_CLOCK clockNow = 2; clockSoon = 4; clockLater = 6; startsLeft = STARTS; ticksLeft = SPAN
#define CLOCK_GOES_ON ticksLeft--; clockNow = clockSoon; clockSoon = clockLater; clockLater = highest + 2
#define CLOCK_ALLOWS(term_) ((term_) <= clockLater)
#define HIGHEST_CLAIM highest
#define VOTED_TO (V.term > V.clockFloor -> V.term : V.clockFloor)
#define NOT_FRESH V.fresh = false

/* It keeps nothing. */
inline lose_all() {
  startsLeft--;
  V.fileTerm = 0; V.fileLease = false; V.term = 0; V.clockFloor = 0; V.fresh = false;
  V.forgot = true; V.age = 0; V.toldBy = 0; V.toldNone = 0; V.floor = 0
}

#define BOTH_OTHERS(set) (((set) | BIT(me)) == 7)
#ifdef BESIDE_ONE_THAT_KNOWS
#define TELLS_NONE (V.toldNone != 0)
#else
#define TELLS_NONE BOTH_OTHERS(V.toldNone)
#endif
#ifdef CLOCK_ALONE
#define IS_TOLD true
#else
#define IS_TOLD (TELLS_NONE || BOTH_OTHERS(V.toldBy))
#endif
#define MAY_BEGIN(clock_) (V.forgot && HAS_WAITED && IS_TOLD)

inline begin_again(clock_) {
  TELL("takes part again, by a clock that gives %d", clock_);
  V.forgot = false; V.age = LEASE;
  V.fresh = TELLS_NONE;
  if
  :: TELLS_NONE -> SHOWN("a start of all")
  :: else -> SHOWN("a start beside others that know")
  fi;
#ifdef WRONG_CLOCK_DROPS
  V.term = (clock_ == 0 -> 0 : V.floor);
#else
  V.term = V.floor;
#endif
  V.clockFloor = clock_;
  V.toldBy = 0; V.toldNone = 0; V.floor = 0
}
#else
#define MAY_RESTART true
#define MAY_TICK true
#define START_CLOCK skip
#define CLOCK_GOES_ON skip
#define CLOCK_ALLOWS(term_) true
#define HIGHEST_CLAIM highest + 1
#define VOTED_TO V.term
#define NOT_FRESH skip
#endif
