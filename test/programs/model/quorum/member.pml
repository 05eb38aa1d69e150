/* Steps between a candidate and a member: reads, conditional writes, silence, and a member that forgets. */

c_code {
  #ifdef FORGETS
  #define KNOWS(i) (now.cand[me].knows.at[i])
  #else
  #define KNOWS(i) 0
  #endif

  static int isSame(struct Kept *one, struct Kept *other) {
    return one->promised == other->promised && one->accepted == other->accepted && one->write == other->write;
  }

  /* A candidate learns from one member what that member knows of all of them. */
  static void learn(int me, int i) {
  #ifdef FORGETS
    struct Candidate *c = &now.cand[me];
    int other;
    if (c->knows.at[i] < now.member[i].promised) c->knows.at[i] = now.member[i].promised;
    for (other = 0; other < MEMBERS; other++) {
      if (c->knows.at[other] >= now.seen[i].at[other]) continue;
      c->knows.at[other] = now.seen[i].at[other];
  #ifndef FORGOTTEN_BY_STALE_READ
      /* An answer that was read before this was known may be outdated, so the member is read again. */
      if (c->phase == READING && c->to[other].answer == GIVEN && c->to[other].kept.promised < c->knows.at[other])
        c->to[other].answer = AWAITED;
  #endif
    }
  #endif
  }

  static int isRead(int pair) {
    int me = pair / MEMBERS, i = pair % MEMBERS;
    return now.cand[me].phase == READING && now.cand[me].to[i].answer == AWAITED;
  }

  static void answerRead(int pair) {
    int me = pair / MEMBERS, i = pair % MEMBERS;
    struct Link *to = &now.cand[me].to[i];
    TELL("reads member %d: promised %d, accepted %d, write %d", names[i], now.member[i].promised, now.member[i].accepted, now.member[i].write);
    to->kept = now.member[i];
    to->answer = GIVEN;
  #ifndef IGNORES_FORGETTING
    if (now.member[i].promised < KNOWS(i)) {
      TELL("knows that member %d has forgotten", names[i]);
      MET("a member is known to have forgotten")
      to->answer = FORGOT;
      return;
    }
  #endif
    learn(me, i);
  }

  static void sendWrite(int me, int i, int promised, int accepted, int write) {
    struct Candidate *c = &now.cand[me];
    struct Link *to = &c->to[i];
    to->latest.flying = 1;
    to->latest.before = to->latest.after = to->kept;
    to->latest.after.promised = promised;
    to->latest.after.accepted = accepted;
    to->latest.after.write = write;
  #ifdef FORGETS
    to->latest.seen = c->knows;
  #endif
    to->answer = AWAITED;
  }

  static void sendAccept(int me, int i) {
    struct Candidate *c = &now.cand[me];
    sendWrite(me, i, FORWARD(c->ballot), c->ballot, c->proposed);
  }

  /* The request arrives. It is stored if the member was not written since. */
  static void arrive(int me, int i, struct Request *request, int isAwaited) {
    struct Link *to = &now.cand[me].to[i];
    int isStored = isSame(&now.member[i], &request->before);
    request->flying = 0;
    if (isStored) {
      TELL("has a write stored at member %d: promised %d, accepted %d, write %d", names[i], request->after.promised, request->after.accepted, request->after.write);
      now.member[i] = request->after;
  #ifdef FORGETS
      now.seen[i] = request->seen;
  #endif
      noteAcceptance(i, &request->after);
    } else TELL("has a write refused by member %d", names[i]);
    if (!isAwaited || to->answer != AWAITED) return;
    to->answer = isStored ? GIVEN : REFUSED;
    if (!isStored) return;
    to->kept = request->after;
    learn(me, i);
  }

  static int isFlying(int pair) { return now.cand[pair / MEMBERS].to[pair % MEMBERS].latest.flying; }
  static int isLateFlying(int pair) { return now.cand[pair / MEMBERS].to[pair % MEMBERS].late.flying; }
  static void deliver(int pair) { arrive(pair / MEMBERS, pair % MEMBERS, &now.cand[pair / MEMBERS].to[pair % MEMBERS].latest, 1); }
  static void deliverLate(int pair) { arrive(pair / MEMBERS, pair % MEMBERS, &now.cand[pair / MEMBERS].to[pair % MEMBERS].late, 0); }

  #ifdef PATIENT
  static int mayBeSilent(int pair) { return 0; }
  #else
  static int mayBeSilent(int pair) {
    int me = pair / MEMBERS, i = pair % MEMBERS;
    return now.cand[me].phase != IDLE && now.cand[me].to[i].answer == AWAITED && !now.cand[me].to[i].late.flying;
  }
  #endif

  /* The candidate stops waiting. Its request may still arrive. */
  static void beSilent(int pair) {
    int me = pair / MEMBERS, i = pair % MEMBERS;
    struct Link *to = &now.cand[me].to[i];
    TELL("hears nothing of member %d", names[i]);
    to->answer = SILENT;
  #ifndef NO_LATE
    if (to->latest.flying) to->late = to->latest;
  #endif
    to->latest.flying = 0;
  }

  static int othersGiven(int me) {
    int i, given = 0;
    for (i = 0; i < MEMBERS; i++) given += now.cand[me].to[i].answer == GIVEN;
    return given;
  }

  /* A member that was silent, or has forgotten, receives what the others have accepted in this round. */
  static int mayCatchUp(int pair) {
    int me = pair / MEMBERS, i = pair % MEMBERS;
    struct Candidate *c = &now.cand[me];
    int answer = c->to[i].answer;
    if (c->phase != ACCEPTING || (answer != SILENT && answer != FORGOT)) return 0;
  #ifndef CATCHES_UP_OVER_PROMISES
    if (now.member[i].promised > c->ballot) return 0;
  #endif
    if (answer == FORGOT) return othersGiven(me) >= MEMBERS - MAJORITY + 1;
  #ifndef IGNORES_FORGETTING
    if (now.member[i].promised < KNOWS(i)) return 0;
  #endif
    return 1;
  }

  static void catchUp(int pair) {
    int me = pair / MEMBERS, i = pair % MEMBERS;
    TELL("reads member %d, and catches it up", names[i]);
    MET("a member is caught up")
    if (now.cand[me].to[i].answer == FORGOT) MET("a member that had forgotten is taken back")
    now.cand[me].to[i].kept = now.member[i];
    sendAccept(me, i);
  }

  #ifdef FORGETS
  static void backUp(int i) {
    int me = 12; /* M, in the account of a run */
    TELL("member %d is backed up", names[i]);
    now.forgetful = i;
    now.backup = now.member[i];
    now.backedUpSeen = now.seen[i];
  }

  static int mayForget(void) {
    int other, i = now.forgetful;
    if (i == MEMBERS || now.hasForgotten || now.backup.promised == now.member[i].promised) return 0;
  #if !defined(PATIENT) && !defined(UNNOTICED)
    /* A process that reads any other member learns of this. */
    for (other = 0; other < MEMBERS; other++)
      if (other != i && now.seen[other].at[i] <= now.backup.promised) return 0;
  #endif
    return 1;
  }
  static void wipe(int i) {
    int me = 12; /* M, in the account of a run */
    TELL("member %d is wiped", names[i]);
    MET("a member is wiped")
    memset(&now.member[i], 0, sizeof(struct Kept));
    memset(&now.seen[i], 0, sizeof(struct Promises));
    now.forgetful = i;
    now.hasForgotten = 1;
  }

  static void forget(int i) {
    int me = 12; /* M, in the account of a run */
    TELL("member %d forgets: promised %d, accepted %d, write %d", names[i], now.backup.promised, now.backup.accepted, now.backup.write);
    MET("a member is rolled back")
    now.member[i] = now.backup;
    now.seen[i] = now.backedUpSeen;
    now.hasForgotten = 1;
  }
  #endif
}
