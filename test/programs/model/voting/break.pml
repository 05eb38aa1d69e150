/*
 * BREAK: an administrator's order ends a term, which it names. It is kept, and no LEAD of that term is accepted any more. With
 * IMMEDIATE it also lifts the block of that term's LEADs, at once and after a restart. Then the leader of that term may be valid
 * beside the next one, but no others may.
 */

#ifdef BREAKS
#ifdef IMMEDIATE_FOR_GOOD
#define NOT_BROKEN skip
#else
#define NOT_BROKEN V.broken = false; V.fileBroken = false
#endif
#ifdef BREAK_NOT_KEPT
#define READ_BROKEN V.broken = false
#else
#define READ_BROKEN V.broken = V.fileBroken
#endif
#ifdef LEAD_AFTER_BREAK
#define REFUSES_BROKEN(who) false
#else
#define REFUSES_BROKEN(who) (V.broken && cand[who].term == V.term)
#endif
#define NOTE_WHETHER_LATE C.latest.late = (isTold && C.term == ordered)

/* An administrator has read that this candidate leads. It gives one order at a time. */
#define MAY_ORDER (C.phase == ELECTED && C.leads && ordered == 0)

inline order() {
  TELL("is to be broken");
  ordered = C.term; isTold = false
}

/* The order may arrive at any time, also after its term has ended. */
#ifdef BREAK_OF_ANY_TERM
#define MAY_BREAK (ordered != 0 && ordered <= V.term && !V.broken && !V.forgot)
#else
#define MAY_BREAK (ordered != 0 && ordered == V.term && !V.broken && !V.forgot)
#endif

#define IS_BROKEN(server) (voter[server].broken && voter[server].term == ordered)

inline take_break() {
  TELL("takes the order to break its term");
  CLAIM(V.term == ordered, "an order hits a later term");
  V.broken = true; V.fileBroken = true;
#if defined(BREAK_LIFTS_THE_BAR) || defined(IMMEDIATE)
  V.age = LEASE;
#endif
#ifdef IMMEDIATE
  V.fileLease = false;
  if
  :: IS_VALID(0) && cand[0].term == ordered || IS_VALID(1) && cand[1].term == ordered -> SHOWN("a bar that is freed under a leader")
  :: else
  fi;
#endif
  if
  :: IS_BROKEN(0) + IS_BROKEN(1) + IS_BROKEN(2) >= 2 -> isTold = true; SHOWN("a term that a majority has broken")
  :: else
  fi
}

#define BREAK_HOLDS(who) (!(cand[who].latest.late && MAJORITY(who, cand[who].latest.taken)))
#define BREAKS_HOLD CLAIM(BREAK_HOLDS(0) && BREAK_HOLDS(1), "a broken term is renewed")
#else
#define NOT_BROKEN skip
#define READ_BROKEN skip
#define REFUSES_BROKEN(who) false
#define NOTE_WHETHER_LATE skip
#define BREAKS_HOLD skip
#endif

/* The only leader that may be valid beside another one. */
#ifdef IMMEDIATE
#define IS_EXEMPT(who) (ordered != 0 && cand[who].term == ordered)
#else
#define IS_EXEMPT(who) false
#endif
/* An earlier order also lifts every later block. */
#ifdef IMMEDIATE_FOR_GOOD
#define IS_FREE_BY_ORDER V.broken
#else
#define IS_FREE_BY_ORDER false
#endif
