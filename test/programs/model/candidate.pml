/* The steps of a candidate, and its knowledge. */

#ifdef UNDURABLE
#define FORGET(write) write.remembered = false; write.stored = false; write.acknowledged = false; write.age = 0
#else
#define FORGET(write) write.remembered = false; write.stored = false; write.age = 0
#endif
#define FORGET_WRITES FORGET(C.latest); FORGET(C.earlier)
#define FORGET_REPLY \
  C.replied = false; C.reply.term = 0; C.reply.owner = 0; C.reply.termId = 0; C.reply.nonce = 0; FORGET_QUESTION
#ifdef COUNT_FROM_READ_SENT
#define FORGET_QUESTION C.asked = false; C.askedAge = 0
#define READING_AGE C.askedAge
#define IS_READING C.asked
#else
#define FORGET_QUESTION skip
#define READING_AGE 0
#define IS_READING C.replied
#endif
#ifdef COUNT_FROM_REPLY
#define GRANT_AGE(write) 0
#else
#define GRANT_AGE(write) write.age
#endif

/* The termId is the only proof of ownership; the candidateId is a label. */
#define FOUND(id) (C.reply.termId == id)
#define IS_VACANT(id) (id == 0 || ((C.abandoned >> id) & 1))
#ifdef NONCE_IGNORED_BY_RIVAL
#define IS_NEWS(term_, nonce_) (C.seenNonce == 0 || C.seenTerm != term_)
#else
#define IS_NEWS(term_, nonce_) (C.seenNonce != nonce_)
#endif
/* The time for which a rival waits: the duration in the record, rather than its own option. */
#ifdef OWN_DURATION
#define WAIT(who) LEASE(who)
#else
#define WAIT(who) LEASE(cand[who].seenOwner)
#endif

inline become_standby() {
  C.phase = STANDBY; C.term = 0; C.termId = 0; C.version = 0; C.age = 0;
  FORGET_WRITES;
  FORGET_REPLY
}

/* The candidate does not lead on this term of its own. If it finds the term in the store, the term counts as vacant. */
inline abandon(id) {
  C.abandoned = C.abandoned | (1 << id)
}

/* ---- Reading. ---- */

#ifdef COUNT_FROM_READ_SENT
#define MAY_ASK (WANTS_TO_READ && !C.asked)
inline ask() {
  TELL("sends a read");
  C.asked = true;
  C.latest.stored = false
}
#endif

inline receive() {
  if
  :: C.phase == STANDBY ->
     receive_as_standby()
  :: C.phase == ACQUIRING ->
     resolve_acquisition()
  :: C.phase == RENEWING ->
     resolve_renewal()
  :: C.phase == RELEASING ->
     resolve_release()
  fi
}

inline see(term_, owner_, termId_, nonce_) {
  if
  :: IS_NEWS(term_, nonce_) -> C.seenAge = READING_AGE
  :: else
  fi;
  C.seenTerm = term_; C.seenOwner = owner_; C.seenNonce = nonce_;
  C.seenVacant = IS_VACANT(termId_);
  if
  :: C.seenVacant -> C.seenOwner = 0; C.seenAge = 0
  :: else
  fi
}

#define SEE_REPLY see(C.reply.term, C.reply.owner, C.reply.termId, C.reply.nonce)

inline receive_as_standby() {
  TELL("receives the reply to its read");
  SEE_REPLY;
#ifdef OWNER_BY_LABEL
  if
  :: C.reply.owner == me && C.reply.termId != 0 ->
     TELL("finds its own candidateId there, and takes it that it leads");
     C.phase = LEADING; C.term = C.reply.term; C.termId = C.reply.termId; C.version = C.reply.nonce
  :: else
  fi;
#endif
  FORGET_REPLY
}

/* ---- Writing. ---- */

/*
 * Each candidate may have two writes under way. For one more, the earlier one must be lost for good, and the time of its send
 * must not count any more.
 */
#ifdef ONE_WRITE_UNDER_WAY
#define HAS_ROOM (!C.latest.remembered)
#define IS_SHIFTED false
#else
#define HAS_ROOM (C.latest.kind == NOTHING || C.earlier.kind == NOTHING)
#define IS_SHIFTED (C.latest.kind != NOTHING)
#endif

inline send(kind_, term_, termId_, version_) {
  if
  :: IS_SHIFTED ->
     C.earlier.kind = C.latest.kind; C.earlier.flying = C.latest.flying; C.earlier.remembered = C.latest.remembered;
     C.earlier.term = C.latest.term; C.earlier.termId = C.latest.termId; C.earlier.nonce = C.latest.nonce;
     C.earlier.ifVersion = C.latest.ifVersion; C.earlier.age = C.latest.age
  :: else
  fi;
#ifdef UNDURABLE
  C.latest.acknowledged = false;
#endif
  C.latest.kind = kind_; C.latest.flying = true; C.latest.remembered = true; C.latest.stored = false;
  C.latest.term = term_; C.latest.termId = termId_; C.latest.nonce = usedIds + 1; C.latest.ifVersion = version_;
  C.latest.age = 0
}

/* The reply to its write arrives: it was stored. */
inline hear() {
  see(C.latest.term, me, (C.phase == RELEASING -> 0 : C.latest.termId), C.latest.nonce);
  if
  :: C.phase == ACQUIRING ->
     TELL("hears of its acquisition, sent %d units ago: it leads", C.latest.age);
     lead(C.latest.nonce)
  :: C.phase == RENEWING && C.age < VALID(me) ->
     SHOWN("a renewal confirmed")
     TELL("hears of its renewal, sent %d units ago", C.latest.age);
     extend(C.latest, C.latest.nonce)
  :: C.phase == RENEWING && C.age >= VALID(me) ->
     SHOWN("a renewal confirmed too late")
     TELL("hears of its renewal too late: its term was over");
     become_standby()
  :: C.phase == RELEASING ->
     SHOWN("a release confirmed")
     TELL("hears of its release");
     become_standby()
  fi
}

/* ---- Acquiring. ---- */

#define MAY_ACQUIRE \
  (C.phase == STANDBY && !IS_READING && C.seenNonce != 0 && (C.seenVacant || C.seenAge >= WAIT(me)) && HAS_ROOM)

inline acquire() {
  if
  :: C.seenVacant ->
     if
     :: record.termId != 0 -> SHOWN("a lease that counts as vacant, since it is its own and nobody leads on it")
     :: else
     fi;
     TELL("has seen the lease vacant, and sends an acquisition")
  :: else ->
     if
     :: C.seenOwner == me -> SHOWN("a wait for a lease of its own, of which it has no memory or which it let expire")
     :: else
     fi;
     TELL("has seen the same nonce for %d units, and sends an acquisition", C.seenAge)
  fi;
  send(ACQUIRE, C.seenTerm + 1, usedIds + 1, C.seenNonce);
  C.phase = ACQUIRING
}

inline lead(version_) {
#ifdef UNDURABLE
  if
  :: GRANT_AGE(C.latest) < VALID(me) ->
     CLAIM(C.latest.term > ledTerm, "a term is led twice");
     ledTerm = C.latest.term
  :: else
  fi;
#endif
  C.phase = LEADING; C.term = C.latest.term; C.termId = C.latest.termId; C.version = version_;
  C.age = GRANT_AGE(C.latest);
  FORGET_WRITES
}

/*
 * The candidate did not wait for the reply, or was refused. A refusal may be the answer to a second delivery, so only a read can
 * tell.
 */
inline resolve_acquisition() {
  if
#if defined(UNDURABLE) && !defined(ACQUIRED_BY_READING)
  :: FOUND(C.latest.termId) ->
     SHOWN("an acquisition found by reading, and written again")
     TELL("finds its acquisition by reading, and writes it again");
     SEE_REPLY;
     FORGET_WRITES;
     send(RENEW, C.reply.term, C.reply.termId, C.reply.nonce);
     FORGET_REPLY
#else
  :: FOUND(C.latest.termId) ->
     SHOWN("an acquisition found by reading")
     TELL("finds its acquisition by reading, sent %d units ago: it leads", C.latest.age);
     SEE_REPLY;
     lead(C.reply.nonce);
     FORGET_REPLY
#endif
  :: else ->
     TELL("does not find its acquisition: nobody leads on it, even should it arrive");
     abandon(C.latest.termId);
     SEE_REPLY;
     become_standby()
  fi
}

/* ---- Leading. ---- */

#define MAY_RENEW (C.phase == LEADING && C.age < VALID(me) && HAS_ROOM)

inline renew() {
  TELL("sends a renewal, %d units after the last send that counts", C.age);
  send(RENEW, C.term, C.termId, C.version);
  C.phase = RENEWING
}

inline extend(write, version_) {
  C.phase = LEADING; C.version = version_;
  C.age = GRANT_AGE(write);
  FORGET_WRITES
}

inline resolve_renewal() {
  SEE_REPLY;
  if
  :: !FOUND(C.termId) ->
     SHOWN("a loss found by reading")
     TELL("reads that its term is gone");
     become_standby()
  :: FOUND(C.termId) && C.age >= VALID(me) ->
     TELL("reads that its term is there still, too late: it was over");
     become_standby()
#ifdef NONCE_IGNORED_BY_HOLDER
  :: FOUND(C.termId) && C.age < VALID(me) && C.latest.remembered ->
     TELL("reads that its term is there still, and counts from its latest renewal, sent %d units ago", C.latest.age);
     extend(C.latest, C.reply.nonce)
#elif defined(UNDURABLE) && !defined(RENEWED_BY_READING)
  :: FOUND(C.termId) && C.age < VALID(me) && C.latest.remembered && C.latest.nonce == C.reply.nonce ->
     SHOWN("the latest renewal found by reading, which counts for nothing")
     TELL("finds its latest renewal by reading, which counts for nothing");
     C.phase = LEADING; C.version = C.reply.nonce
#else
  :: FOUND(C.termId) && C.age < VALID(me) && C.latest.remembered && C.latest.nonce == C.reply.nonce ->
     SHOWN("the latest renewal found by reading")
     TELL("finds its latest renewal by reading, sent %d units ago", C.latest.age);
     extend(C.latest, C.reply.nonce)
  :: FOUND(C.termId) && C.age < VALID(me) && C.earlier.remembered && C.earlier.nonce == C.reply.nonce ->
     SHOWN("a renewal before the latest found by reading")
     TELL("finds the renewal before the latest by reading, sent %d units ago", C.earlier.age);
     extend(C.earlier, C.reply.nonce)
#endif
  :: else ->
     TELL("reads that its term is there still, and that no renewal has arrived");
     C.phase = LEADING; C.version = C.reply.nonce
  fi;
  FORGET_REPLY
}

/* A write to some resource, by a leader that has just checked its clock. It may arrive much later. */
#define MAY_GUARD (IS_VALID(me) && C.guardTermId == 0)

inline guard() {
  TELL("is valid, and sends a guarded write");
  C.guardTerm = C.term; C.guardTermId = C.termId
}

/* ---- Giving up. ---- */

/* The task has settled in time. This ends the term, whether or not the release succeeds. */
#define MAY_FINISH \
  (C.age < VALID(me) && (C.phase == LEADING && HAS_ROOM || C.phase == RENEWING))

inline finish() {
  TELL("ends its term");
  abandon(C.termId);
#ifndef VALID_UNTIL_RELEASED
  C.age = 0;
#endif
  FORGET_WRITES;
  FORGET_REPLY;
  if
  :: C.phase == LEADING -> release()
  :: else -> C.version = 0; C.phase = RELEASING
  fi
}

/* Without a version the candidate must read first. */
#define MAY_RELEASE (C.phase == RELEASING && C.version != 0 && HAS_ROOM)

inline release() {
  TELL("sends a release");
  send(RELEASE, C.term, C.termId, C.version);
  C.version = 0;
  C.phase = RELEASING
}

inline resolve_release() {
  SEE_REPLY;
  if
  :: FOUND(C.termId) ->
     TELL("reads that its term is there still");
     C.version = C.reply.nonce;
     FORGET_REPLY
  :: else ->
     TELL("reads that its term is gone");
     become_standby()
  fi
}

/* The validity has ended, or the task has overrun, or the candidate gives up an acquisition or a release. */
#define MAY_STOP (C.phase != STANDBY)

inline stop() {
  TELL("stops, without a release");
  if
  :: C.phase == ACQUIRING -> abandon(C.latest.termId)
  :: else
  fi;
  become_standby()
}

/* The candidate loses its memory. Its label stays, and so do its sent requests. */
inline crash() {
  TELL("crashes, and starts again");
  become_standby();
  C.seenTerm = 0; C.seenOwner = 0; C.seenNonce = 0; C.seenVacant = false; C.seenAge = 0;
  C.abandoned = 0
}
