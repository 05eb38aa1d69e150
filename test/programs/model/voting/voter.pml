/* The steps of a voter, and its state. */

/* A LEAD or the server's start still blocks its votes, or it does not know what it has forgotten. */
#define REFUSES (V.forgot || KNOWS_LITTLE || V.age < LEASE && !IS_FREE_BY_ORDER)

/* The voter has heard the RELEASE of its term. */
#ifdef RELEASE_WITHOUT_NUMBER
#define IS_FREED V.freed
#define NOT_FREED V.freed = false
#else
#define IS_FREED (V.heard == RELEASE)
#define NOT_FREED skip
#endif

/* An ELECT arrives. A voter has one vote in each term, so it does not vote in a term that it knows already. */
#define ELECTS(who) (LIST(who) == LIST(me) && cand[who].phase == CLAIMING && cand[who].term > V.term)
#ifdef VOTE_DURING_LEASE
#define MAY_VOTE(who) (ELECTS(who) && !V.forgot)
#else
#define MAY_VOTE(who) (ELECTS(who) && !REFUSES)
#endif

inline vote(who) {
  TELL("votes for %c", 'A' + who);
  V.term = cand[who].term; V.heard = NONE;
  NOT_FREED;
  NOT_BROKEN;
#ifndef VOTE_NOT_KEPT
  V.fileTerm = V.term; V.fileLease = true;
#endif
  cand[who].votes = cand[who].votes | BIT(me)
}

/* A LEAD arrives. One below the voter's term is refused, and one above it is accepted. An older number extends nothing. */
#define HAS_SENT(who, lead) (LIST(who) == LIST(me) && (cand[who].phase == ELECTED || cand[who].phase == RELEASED) && cand[who].lead.age < VALID)
#ifdef IGNORE_NUMBERS
#define EXTENDS(who, which) (cand[who].term >= V.term)
#else
#define EXTENDS(who, which) (cand[who].term > V.term || cand[who].term == V.term && which > V.heard)
#endif
#ifdef FORGETFUL_ACKNOWLEDGES
#define MAY_ACKNOWLEDGE true
#else
#define MAY_ACKNOWLEDGE (!V.forgot && !KNOWS_LITTLE)
#endif
#define MAY_TAKE_LATEST(who) (HAS_SENT(who, latest) && EXTENDS(who, LATEST) && MAY_ACKNOWLEDGE && !REFUSES_BROKEN(who))
#define MAY_TAKE_EARLIER(who) (HAS_SENT(who, earlier) && EXTENDS(who, EARLIER) && MAY_ACKNOWLEDGE && !REFUSES_BROKEN(who))

inline take(who, which) {
  TELL("takes a LEAD of %c", 'A' + who);
  CLAIM(cand[who].term > V.term || which > V.heard && !IS_FREED, "an old LEAD bars voters");
  if
  :: cand[who].term > V.term -> SHOWN("a LEAD of a term above the voter's"); NOT_BROKEN
  :: else
  fi;
  V.term = cand[who].term; V.heard = which; V.age = 0;
  NOT_FREED;
#ifndef LEAD_NOT_KEPT
  V.fileTerm = V.term; V.fileLease = true;
#endif
  /* The latest LEAD blocks at least as long as the earlier one, so it also counts for that one. */
  cand[who].earlier.taken = cand[who].earlier.taken | BIT(me);
  if
  :: which == LATEST -> cand[who].latest.taken = cand[who].latest.taken | BIT(me)
  :: else
  fi
}

/* RELEASE lifts the block of its own term only. */
#ifdef RELEASE_OF_ANY_TERM
#define RELEASES(who) (cand[who].released != 0)
#else
#define RELEASES(who) (cand[who].released != 0 && cand[who].released == V.term)
#endif
#define MAY_HEAR_RELEASE(who) (RELEASES(who) && !V.forgot && V.age < LEASE)

inline hear_release(who) {
  TELL("hears that %c has released its term", 'A' + who);
  V.age = LEASE;
#ifdef RELEASE_WITHOUT_NUMBER
  V.freed = true
#else
  V.heard = RELEASE
#endif
}

/* ---- Starting again. ---- */

inline restart() {
  TELL("starts again");
  if
  :: V.forgot ->
#ifdef RESTART_LETS_IN
     V.forgot = false; V.age = LEASE;
#else
     V.age = 0;
#endif
     V.toldBy = 0; V.floor = 0
  :: else ->
     V.term = V.fileTerm;
     READ_BROKEN;
#ifdef NO_WAIT
     V.age = LEASE;
#else
     /* An election that an intact file lacks is new to the server. */
     V.age = (V.fileLease -> 0 : LEASE);
#endif
  fi;
  V.heard = NONE;
  NOT_FREED;
  if
  :: me < CANDIDATES -> become_standby(me)
  :: else
  fi
}

/* One server at a time loses its disk. */
#define MAY_FORGET (!voter[0].forgot && !voter[1].forgot && !voter[2].forgot)

inline forget() {
  TELL("loses its disk, and starts again");
  SHOWN("a lost disk");
  V.fileTerm = 0; V.fileLease = false; V.term = 0; V.heard = NONE;
#ifdef EMPTY_IS_NEW
  V.age = LEASE;
#else
  V.forgot = true; V.age = 0;
#endif
  if
  :: me < CANDIDATES -> become_standby(me)
  :: else
  fi
}

#define MAY_BE_TOLD(who) (V.forgot && who != me && !(V.toldBy & BIT(who)))
inline be_told(who) {
  TELL("is told the term of %c", 'A' + who);
  V.toldBy = V.toldBy | BIT(who);
  if
  :: voter[who].term > V.floor -> V.floor = voter[who].term
  :: else
  fi
}

/* All others but a minority have reported. One of them is in every majority that has elected a leader. */
#ifdef FLOOR_OF_TOO_FEW
#define KNOWS_FLOOR (V.toldBy != 0)
#else
#define KNOWS_FLOOR ((V.toldBy | BIT(me)) == 7)
#endif
#ifdef NO_WAIT_AFTER_LOSS
#define HAS_WAITED true
#else
#define HAS_WAITED (V.age == LEASE)
#endif
#define MAY_RETURN (V.forgot && HAS_WAITED && KNOWS_FLOOR)

inline return_() {
  TELL("takes part again");
  SHOWN("a return after a lost disk");
  V.forgot = false; V.term = V.floor; V.fileTerm = V.floor; V.fileLease = true;
  V.age = LEASE; V.toldBy = 0; V.floor = 0
}
