/* The steps of candidates and servers, and the faults. */

c_code {
  static int claimed; /* the violated claim; 0: none, 1: rising terms, 2: one leader at a time */

  #if ROLLBACKS > 0
  static void forgetBackup(void) {
    now.backedUp = SERVERS;
    now.backupTerm = now.backupLease = now.wroteSince = now.remember = now.fileRemember = 0;
  }
  #endif

  static void becomeStandby(int me) {
    memset(&now.cand[me], 0, sizeof(struct Candidate));
    now.cand[me].age = now.cand[me].leadAge = VALID;
  }

  /* Every message has its sender's write counter. */
  static void hear(int me, int from) {
  #if ROLLBACKS > 0
    if (from == now.backedUp && now.wroteSince && me != from) now.remember |= BIT(me);
  #endif
  }

  /* The server writes its file before it answers, with what it remembers of others. */
  static void keepFile(int me) {
    struct Voter *v = &now.voter[me];
    v->fileTerm = v->term;
    v->fileLease = 1;
  #if ROLLBACKS > 0
    if (now.remember & BIT(me)) now.fileRemember |= BIT(me);
    if (me == now.backedUp) now.wroteSince = 1;
  #endif
  }

  /* The candidate has this vote. The counters of a majority's votes are written down before the first LEAD. */
  static void countVote(int who, int me) {
    struct Candidate *c = &now.cand[who];
    int list = LIST(who);
    c->votes |= BIT(me);
    if (!isMajority(list, c->votes)) return;
    c->phase = ELECTED;
    c->votes = c->claimAge = 0;
  #if ROLLBACKS > 0 && !defined(VOTES_NOT_REMEMBERED)
    if (now.remember & BIT(who)) now.fileRemember |= BIT(who);
  #endif
  }

  static int mayClaim(int me) {
    if (now.claimsLeft == 0 || refuses(me) || now.highest >= 2 * TERMS) return 0;
    return now.highest + 1 - now.voter[me].term;
  }

  static void claim(int me, int more) {
    struct Voter *v = &now.voter[me];
    TELL("claims a term, and votes for itself");
    now.claimsLeft--;
    becomeStandby(me);
    v->term += more;
    v->heard = 0;
    keepFile(me);
    now.cand[me].phase = CLAIMING;
    now.cand[me].term = v->term;
    countVote(me, me);
  }

  static void vote(int me, int who) {
    struct Voter *v = &now.voter[me];
    TELL("votes for %c", 'A' + names[who]);
    hear(me, who);
    v->term = now.cand[who].term;
    v->heard = 0;
    keepFile(me);
    hear(who, me);
    countVote(who, me);
  }

  static void takeLead(int me, int who) {
    struct Voter *v = &now.voter[me];
    struct Candidate *c = &now.cand[who];
    int isNews = c->term > v->term;
    TELL("takes a LEAD of %c", 'A' + names[who]);
    hear(me, who);
    v->term = c->term;
    v->heard = 1;
    v->age = 0;
    if (isNews || !v->fileLease) keepFile(me);
    hear(who, me);
    c->taken |= BIT(me);
    if (!isMajority(LIST(who), c->taken) || c->leadAge >= c->age) return;
    c->age = c->leadAge;
    if (!c->leads) {
      if (now.highestLed != 0) MET("a second leader")
      if (c->term <= now.highestLed) claimed = 1;
      now.highestLed = c->term;
    }
    c->leads = 1;
  }

  static void sendLead(int me) {
    struct Candidate *c = &now.cand[me];
    int nth;
    TELL("sends a LEAD");
    c->leadAge = c->taken = 0;
    for (nth = 0; nth < SERVERS; nth++) if (now.voter[nth].term == c->term) now.voter[nth].heard = 0;
    if (mayTakeLead(me, me)) takeLead(me, me);
  }

  /* ---- Starting again. ---- */

  static void beginToListen(struct Voter *v) {
    v->heard = v->floor = 0;
  #ifdef LISTS
    memset(v->told, 0, sizeof(v->told));
  #endif
  }

  static void startAgain(int me) {
    struct Voter *v = &now.voter[me];
    beginToListen(v);
    if (v->forgot) { v->term = 0; v->age = 0; }
    else {
      v->term = v->fileTerm;
      /* An election that an intact file lacks is new to the server. */
      v->age = v->fileLease ? 0 : LEASE;
    }
  #if ROLLBACKS > 0
    now.remember = now.remember & ~BIT(me) | now.fileRemember & BIT(me);
  #endif
    if (me < CANDIDATES) becomeStandby(me);
  }

  static void restart(int me) {
    TELL("starts again");
    now.restartsLeft--;
    startAgain(me);
  }

  static void lose(int me) {
    struct Voter *v = &now.voter[me];
    TELL("loses its disk, and starts again");
    MET("a lost disk")
    now.lossesLeft--;
    v->fileTerm = v->fileLease = 0;
    v->forgot = 1;
  #if ROLLBACKS > 0
    now.remember &= ~BIT(me);
    now.fileRemember &= ~BIT(me);
    if (now.backedUp == me) forgetBackup();
  #endif
    startAgain(me);
  }

  static void takePart(int me) {
    struct Voter *v = &now.voter[me];
  #if ROLLBACKS > 0
    if (v->unsure && now.remember != 0) {
      TELL("finds that its file is an older one");
      MET("a file that is found to be an older one")
      v->unsure = v->fileTerm = v->fileLease = 0;
      v->forgot = 1;
      startAgain(me);
      return;
    }
    if (now.backedUp == me) forgetBackup();
  #endif
    TELL("takes part");
    if (v->forgot) {
      MET("a return after a lost disk")
      v->forgot = 0;
      v->term = v->fileTerm = v->floor;
      /* Every lease that the server may have acknowledged has ended. */
      v->fileLease = 0;
      v->age = LEASE;
    }
  #ifdef LISTS
    else if (v->moved && v->floor > v->term) {
      MET("a term that only others of the list before knew")
      v->term = v->fileTerm = v->floor;
      v->fileLease = 1;
      v->age = 0;
    }
    v->moved = 0;
    if (v->list == 2) MET("a list of five servers")
  #endif
    v->unsure = 0;
    beginToListen(v);
  }

  #if ROLLBACKS > 0
  static void backUp(int me) {
    TELL("has its file backed up");
    now.backedUp = me;
    now.backupTerm = now.voter[me].fileTerm;
    now.backupLease = now.voter[me].fileLease;
  }

  static void rollBack(int me) {
    struct Voter *v = &now.voter[me];
    TELL("starts again with an older file");
    MET("a file that was rolled back")
    now.rollbacksLeft--;
    v->fileTerm = now.backupTerm;
    v->fileLease = now.backupLease;
  #ifndef TRUSTS_ITS_FILE
    v->unsure = 1;
  #endif
    startAgain(me);
  }
  #endif

  #ifdef LISTS
  static void startWithNextList(int me) {
    struct Voter *v = &now.voter[me];
    TELL("starts with the next list");
    if (v->isOut) {
      MET("a new server")
      v->isOut = 0;
  #ifdef BEGINS_AT_ONCE
      v->fileTerm = 1;
  #else
      v->forgot = 1;
  #endif
      v->list = LIST_STEP == 2 ? 2 : me - 2;
    } else {
      v->list += LIST_STEP;
      v->moved = 1;
    }
    startAgain(me);
  }
  #endif

  static int atMost(int end, int age) { return age < end ? age : end; }

  static void tick(void) {
    int nth;
    for (nth = 0; nth < SERVERS; nth++) now.voter[nth].age = atMost(LEASE, now.voter[nth].age + FAST);
    for (nth = 0; nth < CANDIDATES; nth++) {
      struct Candidate *c = &now.cand[nth];
      c->age = atMost(VALID, c->age + SLOW);
      c->leadAge = atMost(VALID, c->leadAge + SLOW);
      if (c->phase == CLAIMING) c->claimAge += SLOW;
    }
  }
}
