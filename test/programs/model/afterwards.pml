/*
 * Runs at the end of each step. It keeps the number of states finite, and gives each state one form. It is not part of the
 * protocol; it is written in C for speed.
 *
 * What has passed for good is dropped. A conditional write under way is refused whenever it arrives, if its version is no longer
 * the record's. A standby's observation, or a reply to its read under way, could only lead to such a write once the record has a
 * new nonce. KEEP_THE_PAST keeps all of this. It makes no difference except for many more states.
 *
 * Ids and terms are renamed, so that they never run out. Only equality matters for ids: the ids still in use are numbered in the
 * order in which they are met. Only the order matters for terms: gaps between the terms still in use are closed.
 */

#define AFTERWARDS drop_the_past(); name_ids_anew(); name_terms_anew(); MUTUAL_EXCLUSION

c_decl {
  /* Twelve ids of each candidate and four of the record. So at any time no more ids are in use than an int has bits. */
  static unsigned char newId[32], newTerm[32];
  static int idCount;

  static void nameId(unsigned char *id) {
    if (*id != 0 && newId[*id] == 0) newId[*id] = ++idCount;
    *id = newId[*id];
  }

  static void lower(int *lowest, unsigned char term) {
    if (term != 0 && term < *lowest) *lowest = term;
  }

  /* Renames a termId, and adds it to `abandoned` if it was in `before`. */
  static void nameTermId(unsigned char *id, int before, int *abandoned) {
    int isAbandoned = before >> *id & 1;
    nameId(id);
    *abandoned |= isAbandoned << *id;
  }
}

#ifdef KEEP_THE_PAST
#define IS_KEPT 1
#else
#define IS_KEPT 0
#endif
/* A failover may bring the durable record back. */
#ifdef UNDURABLE
#define MAY_RETURN(nonce_) (nonce_ == now.durable.nonce)
#else
#define MAY_RETURN(nonce_) 0
#endif
#ifdef NONCE_IGNORED_BY_RIVAL
#define HAS_PASSED(candidate) (candidate->seenTerm != now.record.term)
#else
#define HAS_PASSED(candidate) (candidate->seenNonce != now.record.nonce && !MAY_RETURN(candidate->seenNonce))
#endif

#ifdef NO_FENCE
#define IS_KEPT_OUT(candidate) 0
#else
#define IS_KEPT_OUT(candidate) (candidate->guardTermId != 0 && candidate->guardTermId != now.record.termId)
#endif

inline drop_the_past() {
  c_code {
    int who, nth, lowest = now.record.term;
    for (who = 0; who < CANDIDATES; who++) {
      struct Candidate *candidate = &now.cand[who];
      struct Write *writes[] = { &candidate->latest, &candidate->earlier };
      for (nth = 0; nth < 2; nth++) {
        struct Write *write = writes[nth];
        if (!IS_KEPT && write->flying && write->ifVersion != now.record.nonce && !MAY_RETURN(write->ifVersion) &&
            !IS_UNCONDITIONAL(write->kind)) {
          write->flying = 0;
          if (write->kind == RENEW && write->term < now.record.term) MET("a late renewal kept out by a newer term")
          if (write->kind == RELEASE && write->term < now.record.term) MET("a late release kept out by a newer term")
          if (write->kind == ACQUIRE && write->nonce != now.record.nonce) MET("an acquisition that lost the race")
        }
        if (!write->flying && !write->remembered) memset(write, 0, sizeof(*write));
      }
      if (!IS_KEPT && HAS_PASSED(candidate)) {
        candidate->seenTerm = candidate->seenOwner = candidate->seenNonce = candidate->seenVacant = 0;
        candidate->seenAge = 0;
      }
      if (!IS_KEPT && candidate->phase == STANDBY && candidate->replied && candidate->reply.nonce != now.record.nonce &&
          !MAY_RETURN(candidate->reply.nonce)) {
        candidate->replied = 0;
        memset(&candidate->reply, 0, sizeof(candidate->reply));
      }
      if (!IS_KEPT && IS_KEPT_OUT(candidate)) {
        candidate->guardTerm = candidate->guardTermId = 0;
        MET("a late guarded write kept out by the fence")
      }
      lower(&lowest, candidate->term);
      lower(&lowest, candidate->latest.term);
      lower(&lowest, candidate->earlier.term);
      lower(&lowest, candidate->guardTerm);
    }
    if (now.acceptedTerm < lowest) now.acceptedTerm = 0;
  }
}

inline name_ids_anew() {
  c_code {
    unsigned char recordTermId = now.record.termId;
    int who, nth;
    memset(newId, 0, sizeof(newId));
    idCount = 0;
    nameId(&now.record.termId);
    nameId(&now.record.nonce);
#ifdef UNDURABLE
    unsigned char durableTermId = now.durable.termId;
    nameId(&now.durable.termId);
    nameId(&now.durable.nonce);
#endif
    for (who = 0; who < CANDIDATES; who++) {
      struct Candidate *candidate = &now.cand[who];
      struct Write *writes[] = { &candidate->latest, &candidate->earlier };
      int before = candidate->abandoned;
      int abandoned = (before >> recordTermId & 1) << now.record.termId;
#ifdef UNDURABLE
      abandoned |= (before >> durableTermId & 1) << now.durable.termId;
#endif
      nameId(&candidate->termId);
      nameId(&candidate->version);
      nameId(&candidate->seenNonce);
      nameTermId(&candidate->reply.termId, before, &abandoned);
      nameId(&candidate->reply.nonce);
      for (nth = 0; nth < 2; nth++) {
        struct Write *write = writes[nth];
        nameTermId(&write->termId, before, &abandoned);
        nameId(&write->nonce);
        nameId(&write->ifVersion);
      }
      nameId(&candidate->guardTermId);
      candidate->abandoned = abandoned;
    }
    now.usedIds = idCount;
  }
}

inline name_terms_anew() {
  c_code {
    unsigned char *terms[4 + 6 * CANDIDATES], **end = terms, **term;
    int who, value;
    *end++ = &now.record.term;
    *end++ = &now.acceptedTerm;
#ifdef UNDURABLE
    *end++ = &now.durable.term;
    *end++ = &now.ledTerm;
#endif
    for (who = 0; who < CANDIDATES; who++) {
      struct Candidate *candidate = &now.cand[who];
      *end++ = &candidate->term;
      *end++ = &candidate->seenTerm;
      *end++ = &candidate->reply.term;
      *end++ = &candidate->latest.term;
      *end++ = &candidate->earlier.term;
      *end++ = &candidate->guardTerm;
    }
    memset(newTerm, 0, sizeof(newTerm));
    for (term = terms; term < end; term++) newTerm[**term] = **term != 0;
    for (value = 1; value < sizeof(newTerm); value++) newTerm[value] += newTerm[value - 1];
    for (term = terms; term < end; term++) **term = newTerm[**term];
  }
}
