/* The steps of the store for requests. */

#ifdef UNCONDITIONAL_RELEASE
#define IS_UNCONDITIONAL(kind_) (kind_ == RELEASE)
#else
#ifdef UNCONDITIONAL_RENEWAL
#define IS_UNCONDITIONAL(kind_) (kind_ == RENEW)
#else
#define IS_UNCONDITIONAL(kind_) 0
#endif
#endif
#define HOLDS_FOR(write) (write.ifVersion == record.nonce || IS_UNCONDITIONAL(write.kind))

#ifdef NO_FENCE
#define IS_FENCE_OPEN true
#else
#define IS_FENCE_OPEN (record.term == C.guardTerm && record.termId == C.guardTermId)
#endif

#define AWAITS (C.phase == ACQUIRING || C.phase == RENEWING || C.phase == RELEASING)
/* The sender of a write may stop waiting for its reply at any time, and read. */
#define WANTS_TO_READ (C.phase != LEADING && !(C.phase == RELEASING && C.version != 0))
/* A read that shows a standby nothing new changes nothing. */
#define WOULD_TELL \
  (C.phase != STANDBY || C.seenNonce != record.nonce || C.seenVacant != IS_VACANT(record.termId))
/* The instant of a read's send makes no difference, unless a candidate counts from it. */
#ifdef COUNT_FROM_READ_SENT
#define MAY_ANSWER (C.asked && !C.replied)
#else
#define MAY_ANSWER (WANTS_TO_READ && WOULD_TELL && !(C.replied && C.reply.nonce == record.nonce))
#endif

inline answer() {
  TELL("its read is answered by the store");
  C.replied = true;
  C.reply.term = record.term; C.reply.owner = record.owner; C.reply.termId = record.termId; C.reply.nonce = record.nonce;
  C.latest.stored = false;
#ifdef UNDURABLE
  C.latest.acknowledged = false;
#endif
  if
  :: C.phase == RELEASING -> FORGET_WRITES
  :: else
  fi
}

#define OF_THE_PRESENT_TERM(write) (write.term == record.term && write.termId == record.termId)

inline deliver(write, awaited) {
  if
  :: HOLDS_FOR(write) ->
     if
     :: write.kind == ACQUIRE ->
        TELL("its acquisition is stored");
        CLAIM(write.term > record.term, "a term does not rise");
        if
        :: record.termId != 0 -> SHOWN("a takeover from a leader that has not released")
        :: else
        fi;
        record.owner = me; record.term = write.term; record.termId = write.termId
     :: write.kind == RENEW ->
        TELL("its renewal is stored");
        CLAIM(OF_THE_PRESENT_TERM(write), "a renewal of an old term is stored");
        record.owner = me; record.term = write.term; record.termId = write.termId
     :: write.kind == RELEASE ->
        TELL("its release is stored");
#ifndef UNCONDITIONAL_RELEASE
        CLAIM(OF_THE_PRESENT_TERM(write), "a release of an old term is stored");
#endif
        record.termId = 0
     fi;
     record.nonce = write.nonce;
     /* A write that no version guards is delivered once, and its sender cannot know which record it has overwritten. */
     write.flying = !IS_UNCONDITIONAL(write.kind) && IS_DELIVERED_AGAIN;
     write.stored = awaited && write.remembered && !IS_READING && !IS_UNCONDITIONAL(write.kind)
  :: else
  fi
}

/* The earlier of two writes under way is lost for good, which makes room for one more. */
#define MAY_LOSE_EARLIER (C.earlier.flying && !C.earlier.remembered)
inline lose_earlier() {
  C.earlier.flying = false
}

inline deliver_guarded() {
  if
  :: IS_FENCE_OPEN ->
     TELL("its guarded write is accepted");
     CLAIM(C.guardTerm >= acceptedTerm, "a guarded write is of an older term than one before");
     if
     :: acceptedTerm != 0 && acceptedTerm < C.guardTerm -> SHOWN("guarded writes of two terms accepted")
     :: else
     fi;
     acceptedTerm = C.guardTerm
  :: else
  fi
}
