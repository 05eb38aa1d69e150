/* The steps of a candidate. Its own server answers by the same rules as the others. */

#define NO_LEAD(lead) lead.age = VALID; lead.taken = 0

inline become_standby(who) {
  cand[who].phase = STANDBY; cand[who].term = 0; cand[who].votes = 0; cand[who].leads = false; cand[who].age = VALID;
  NO_LEAD(cand[who].latest);
  NO_LEAD(cand[who].earlier)
}

/* ---- ELECT and VOTE. ---- */

#ifdef ADD_VOTES
#define IS_FREE (C.phase == STANDBY || C.phase == CLAIMING)
#define VOTES_OF_ANOTHER_TERM C.votes
#else
#define IS_FREE (C.phase == STANDBY)
#define VOTES_OF_ANOTHER_TERM 0
#endif
#ifdef OWN_ALWAYS
#define OWN_VOTE true
#else
#define OWN_VOTE (!REFUSES)
#endif
/* Any term above its server's: a known one, or one between known ones. */
#define MAY_CLAIM(more) \
  (IS_FREE && OWN_VOTE && V.term + more <= highest + 1)

inline claim(more) {
  TELL("claims a term, and votes for itself");
  C.phase = CLAIMING; C.term = V.term + more;
  C.votes = VOTES_OF_ANOTHER_TERM | BIT(me);
  V.term = C.term; V.heard = NONE; V.fileTerm = C.term; V.fileLease = true;
  NOT_BROKEN
}

/* The instant at which votes are counted does not change the votes. */
#define MAY_WIN (C.phase == CLAIMING && MAJORITY(me, C.votes))

inline win() {
  TELL("has the votes of a majority");
  C.phase = ELECTED; C.votes = 0;
#ifdef VOTES_ARE_A_LEASE
  C.age = 0;
  begin()
#endif
}

/* ---- LEAD. ---- */

#define MAY_SEND_LEAD (C.phase == ELECTED)

inline send_lead() {
  TELL("sends a LEAD");
#ifndef ONE_LEAD
  C.earlier.age = C.latest.age; C.earlier.taken = C.latest.taken;
#endif
  C.latest.age = 0; C.latest.taken = 0;
  NOTE_WHETHER_LATE;
  shift_heard(0);
  shift_heard(1);
  shift_heard(2);
  if
  :: MAY_TAKE_LATEST(me) -> take(me, LATEST)
  :: else
  fi;
#ifdef OWN_ALWAYS
  C.latest.taken = C.latest.taken | BIT(me)
#endif
}

/* The latest LEAD that the servers have heard is the earlier one now. */
inline shift_heard(who) {
  if
  :: voter[who].term == C.term && voter[who].heard != NONE && voter[who].heard != RELEASE ->
     voter[who].heard = voter[who].heard - 1
  :: else
  fi
}

#ifdef COUNT_FROM_RESEND
inline resend() {
  TELL("sends its latest LEAD again");
  C.latest.age = 0
}
#endif

/* The instant at which answers are heard does not change the answers. */
#define MAY_LEAD (C.phase == ELECTED && !C.leads && C.age < VALID)

inline lead() {
  TELL("hears that a majority has taken a LEAD sent %d units ago: it leads", C.age);
  begin()
}

inline begin() {
  CLAIM(C.term > highestLed, "a term does not rise");
  if
  :: highestLed != 0 -> SHOWN("a second leader")
  :: else
  fi;
  if
  :: C.released != 0 && C.released == highestLed -> SHOWN("a leader after its own release")
  :: else
  fi;
  highestLed = C.term;
  C.leads = true
}

/* ---- Giving up. ---- */

inline release() {
  TELL("ends its term, and sends RELEASE");
  C.phase = RELEASED; C.released = C.term;
#ifndef VALID_UNTIL_LATER
  C.leads = false; C.age = VALID
#endif
}

/* The attempt or the validity has ended, or the caller does not wait any more. */
inline stop() {
  TELL("stops");
  become_standby(me)
}
