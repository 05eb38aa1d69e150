/* The steps of a candidate: gets and puts, each by rounds of prepares and accepts. */

c_code {
  #include <stddef.h>

  static int count(int me, int answer) {
    int i, found = 0;
    for (i = 0; i < MEMBERS; i++) found += now.cand[me].to[i].answer == answer;
    return found;
  }

  /* No more answers are due in this round. */
  static int isComplete(int me) { return now.cand[me].phase != IDLE && count(me, AWAITED) == 0; }

  static void idle(int me) {
    struct Candidate *c = &now.cand[me];
    c->phase = IDLE;
    c->putting = c->sent = c->sentOnce = 0;
    c->write = c->floor = 0;
    answered = 0;
  }

  static int hasRoom(int me) {
    int i;
    for (i = 0; i < MEMBERS; i++) if (now.cand[me].to[i].latest.flying && now.cand[me].to[i].late.flying) return 0;
    return 1;
  }

  static void abandonRequests(int me) {
    int i;
    for (i = 0; i < MEMBERS; i++) {
      struct Link *to = &now.cand[me].to[i];
      if (to->latest.flying) to->late = to->latest;
      memset(&to->latest, 0, sizeof(to->latest));
    }
  }

  static void readAll(int me) {
    int i;
    abandonRequests(me);
    now.cand[me].phase = READING;
    for (i = 0; i < MEMBERS; i++) now.cand[me].to[i].answer = AWAITED;
  }

  /* A put reads as well. Gets only add that they complete what is split. */
  #ifdef NO_GETS
  static int mayGet(int me) { return 0; }
  #else
  static int mayGet(int me) { return now.cand[me].phase == IDLE && hasRoom(me); }
  #endif

  static void get(int me) {
    TELL("begins a get");
    now.cand[me].floor = newest();
    readAll(me);
  }

  static int mayPut(int me) {
    struct Candidate *c = &now.cand[me];
    return c->phase == IDLE && c->puts > 0 && c->known != 0 && hasRoom(me);
  }

  /* Reports whether a member keeps, as far as this candidate knows, what its last round has written there. */
  static int isOurs(int me, int i) {
    struct Candidate *c = &now.cand[me];
    struct Link *to = &c->to[i];
  #ifdef FAST_ON_WHAT_IS_READ
    return to->answer == GIVEN;
  #else
    return to->answer == GIVEN && to->kept.promised == FORWARD(c->ballot) && to->kept.accepted == c->ballot;
  #endif
  }

  static void put(int me) {
    struct Candidate *c = &now.cand[me];
    int i, ours[MEMBERS];
    c->puts--;
    c->putting = 1;
    c->write = ++now.lastWrite;
    now.parent[c->write] = c->known;
    if (!c->leads) {
      TELL("begins a put of write %d in place of %d", c->write, c->known);
      readAll(me);
      return;
    }
    abandonRequests(me);
    for (i = 0; i < MEMBERS; i++) ours[i] = isOurs(me, i);
  #ifdef FAST_AFTER_REPAIR
    c->ballot = c->ledBy;
  #endif
  #ifndef ONE_BALLOT_FOR_TWO
    c->ballot += CANDIDATES;
  #endif
    TELL("begins a put of write %d in place of %d, under ballot %d without a prepare", c->write, c->known, c->ballot);
    MET("a put without a prepare")
    c->sent = c->sentOnce = 1;
    c->proposed = c->write;
    c->phase = ACCEPTING;
    for (i = 0; i < MEMBERS; i++) {
      if (ours[i]) sendAccept(me, i);
      else c->to[i].answer = SILENT;
    }
  }

  /* The write that was accepted under the highest ballot among all answers. */
  static int topOf(int me, int *shown) {
    int i, top = 0, write = 0;
    for (i = 0; i < MEMBERS; i++) {
      struct Link *to = &now.cand[me].to[i];
      if (to->answer != GIVEN || to->kept.accepted <= top) continue;
      top = to->kept.accepted;
      write = to->kept.write;
    }
    *shown = 0;
    for (i = 0; i < MEMBERS; i++) *shown += now.cand[me].to[i].answer == GIVEN && now.cand[me].to[i].kept.accepted == top;
  #ifdef MAJORITY_RATHER_THAN_HIGHEST
    for (i = 0; i < MEMBERS; i++) {
      int other, alike = 0;
      for (other = 0; other < MEMBERS; other++)
        alike += now.cand[me].to[i].answer == GIVEN && now.cand[me].to[other].answer == GIVEN && now.cand[me].to[i].kept.accepted == now.cand[me].to[other].kept.accepted;
      if (alike >= MAJORITY) { *shown = alike; return now.cand[me].to[i].kept.write; }
    }
  #endif
    return write;
  }

  #ifdef READS_MINORITY
  #define TO_READ 1
  #else
  #define TO_READ MAJORITY
  #endif

  static int hasRead(int me) {
    return now.cand[me].phase == READING && isComplete(me) && count(me, GIVEN) >= TO_READ;
  }

  static void prepare(int me) {
    struct Candidate *c = &now.cand[me];
    int i, ballot = c->ballot;
    for (i = 0; i < MEMBERS; i++) if (c->to[i].answer == GIVEN && c->to[i].kept.promised > ballot) ballot = c->to[i].kept.promised;
    ballot += 1 + (ballot + 1 + me) % CANDIDATES;
    if (ballot > LAST_BALLOT || count(me, GIVEN) < MAJORITY) { idle(me); return; }
  #ifndef FAST_AFTER_REPAIR
    c->leads = 0;
  #endif
    c->ballot = ballot;
    c->phase = PREPARING;
    TELL("prepares ballot %d", ballot);
    for (i = 0; i < MEMBERS; i++)
      if (c->to[i].answer == GIVEN) sendWrite(me, i, ballot, c->to[i].kept.accepted, c->to[i].kept.write);
  }

  static void endPut(int me, int isStored) {
    struct Candidate *c = &now.cand[me];
    TELL("is told that write %d was %s", c->write, isStored ? "stored" : "not stored");
    if (isStored) { stored = c->write; c->known = c->write; }
    else now.turnedDown |= 1 << c->write;
    idle(me);
  }

  /* Decides the outcome of a put, if another write was chosen than the one that it was to replace. */
  static void judge(int me, int chosen) {
    struct Candidate *c = &now.cand[me];
    if (chosen == c->write) { MET("a put finds its own write chosen") endPut(me, 1); }
    else if (!c->sent) endPut(me, 0);
    else if (now.parent[chosen] == c->known) { MET("a put whose write was sent finds another in its place") endPut(me, 0); }
    else { TELL("cannot tell what became of write %d", c->write); MET("a put cannot tell what became of it") idle(me); }
    c->leads = 0;
  }

  static void afterRead(int me) {
    struct Candidate *c = &now.cand[me];
    int shown, top = topOf(me, &shown);
  #ifdef LOOKS
    /* This read writes nothing. If the newest write is not known to be chosen, the write that it replaces is. */
    if (shown < TO_READ && !c->putting) {
      MET("a look finds a split")
      TELL("is answered write %d", now.parent[top]);
      c->known = now.parent[top];
      idle(me);
      answered = c->known;
      floorOfAnswer = 0;
      return;
    }
  #endif
    if (shown < TO_READ) { MET("a split is found") prepare(me); }
    else if (!c->putting) {
      TELL("is answered write %d", top);
      int floor = c->floor;
      c->known = top;
      idle(me);
      answered = top; floorOfAnswer = floor;
    }
    else if (top == c->known) prepare(me);
    else judge(me, top);
  }

  static int isPrepared(int me) {
    if (now.cand[me].phase != PREPARING || !isComplete(me) || count(me, GIVEN) < MAJORITY) return 0;
  #ifdef IGNORES_REFUSAL
    return 1;
  #else
    return count(me, REFUSED) == 0;
  #endif
  }

  static void afterPrepare(int me) {
    struct Candidate *c = &now.cand[me];
    int i, shown, top = topOf(me, &shown);
    int isOurs = c->putting && (top == c->known || top == c->write);
    c->proposed = isOurs ? c->write : top;
    c->sentOnce = isOurs && !c->sent;
    c->sent |= isOurs;
    TELL("has a majority for ballot %d, and proposes write %d", c->ballot, c->proposed);
    c->phase = ACCEPTING;
    for (i = 0; i < MEMBERS; i++) if (c->to[i].answer == GIVEN) sendAccept(me, i);
  }

  static int isConfirmed(int me) { return now.cand[me].phase == ACCEPTING && count(me, GIVEN) >= MAJORITY; }

  static void afterAccept(int me) {
    struct Candidate *c = &now.cand[me];
    if (c->putting && c->proposed != c->write) { judge(me, c->proposed); return; }
    if (c->putting) {
      endPut(me, 1);
      c->leads = 1;
  #ifdef FAST_AFTER_REPAIR
      c->ledBy = c->ballot;
  #endif
      return;
    }
    TELL("has completed write %d, and is answered it", c->proposed);
    MET("a get completes a split")
    int floor = c->floor;
    c->known = c->proposed;
    idle(me);
    answered = c->known; floorOfAnswer = floor;
  }

  static int mayStartOver(int me) {
    struct Candidate *c = &now.cand[me];
    return c->phase != IDLE && c->phase != READING && isComplete(me) && !isPrepared(me) && !isConfirmed(me) && hasRoom(me);
  }

  static void startOver(int me) {
    struct Candidate *c = &now.cand[me];
    c->leads = 0;
  #ifdef TURNED_DOWN_AFTER_ACCEPT
    if (c->putting && c->phase == ACCEPTING && count(me, REFUSED) > 0) { endPut(me, 0); return; }
  #endif
    /* Every member has said that it did not accept the write, and no earlier round has sent it. */
    if (c->phase == ACCEPTING && c->sentOnce && count(me, REFUSED) == MEMBERS) {
      MET("a put that every member refuses was not sent")
      c->sent = 0;
    }
    c->sentOnce = 0;
    TELL("starts over");
    readAll(me);
  }

  static int mayGiveUp(int me) { return mayStartOver(me) || (now.cand[me].phase == READING && isComplete(me) && !hasRead(me)); }

  static void giveUp(int me) {
    TELL("gives up");
    now.cand[me].leads = 0;
    idle(me);
  }

  /* State that is never read again is dropped, so that there are fewer states. */
  static void letGo(void) {
    int me, i;
    for (me = 0; me < CANDIDATES; me++) {
      struct Candidate *c = &now.cand[me];
      for (i = 0; i < MEMBERS; i++) {
        struct Link *to = &c->to[i];
  #ifndef FORGETS
        if (to->late.flying && !isSame(&to->late.before, &now.member[i])) to->late.flying = 0;
  #endif
        if (!to->late.flying) memset(&to->late, 0, sizeof(to->late));
        if (!to->latest.flying) memset(&to->latest, 0, sizeof(to->latest));
        if (c->phase == IDLE && !c->leads) to->answer = AWAITED;
        if (to->answer != GIVEN) memset(&to->kept, 0, sizeof(to->kept));
      }
      if (c->phase != ACCEPTING) c->proposed = 0;
    }
  }

  #define SWAP(type, one, other) { type kept = one; one = other; other = kept; }

  static void swapPromises(struct Promises *promises, int one, int other) {
    SWAP(int, promises->at[one], promises->at[other])
  }

  /* The members are all alike, so one of all numberings is enough. */
  static void swapMembers(int one, int other) {
    int me, i;
    SWAP(int, names[one], names[other])
    SWAP(struct Kept, now.member[one], now.member[other])
    for (me = 0; me < CANDIDATES; me++) SWAP(struct Link, now.cand[me].to[one], now.cand[me].to[other])
    for (i = 0; i < BALLOTS; i++) {
      int set = now.accepters[i];
      now.accepters[i] = (set & ~(1 << one) & ~(1 << other)) | (set >> one & 1) << other | (set >> other & 1) << one;
    }
  #ifdef FORGETS
    SWAP(struct Promises, now.seen[one], now.seen[other])
    for (i = 0; i < MEMBERS; i++) swapPromises(&now.seen[i], one, other);
    swapPromises(&now.backedUpSeen, one, other);
    for (me = 0; me < CANDIDATES; me++) {
      swapPromises(&now.cand[me].knows, one, other);
      for (i = 0; i < MEMBERS; i++) {
        swapPromises(&now.cand[me].to[i].latest.seen, one, other);
        swapPromises(&now.cand[me].to[i].late.seen, one, other);
      }
    }
    if (now.forgetful == one) now.forgetful = other;
    else if (now.forgetful == other) now.forgetful = one;
  #endif
  }

  static int compareMembers(int one, int other) {
    int me, difference = memcmp(&now.member[one], &now.member[other], sizeof(struct Kept));
    for (me = 0; me < CANDIDATES && difference == 0; me++) {
      struct Link *to = now.cand[me].to;
      difference = to[one].answer - to[other].answer;
      if (difference == 0) difference = memcmp(&to[one].kept, &to[other].kept, sizeof(struct Kept));
      if (difference == 0) difference = memcmp(&to[one].latest, &to[other].latest, offsetof(struct Request, after));
      if (difference == 0) difference = memcmp(&to[one].late, &to[other].late, offsetof(struct Request, after));
    }
    return difference;
  }

  static void sortMembers(void) {
    int pass, i;
    for (pass = 1; pass < MEMBERS; pass++) for (i = 0; i + 1 < MEMBERS; i++)
      if (compareMembers(i, i + 1) < 0) swapMembers(i, i + 1);
  }

  static void afterwards(void) {
    int me, pair;
    letGo();
    claim();
    sortMembers();
    for (me = 0; me < CANDIDATES; me++)
      now.can[me] = mayGet(me) | mayPut(me) << 1 | hasRead(me) << 2 | isPrepared(me) << 3 | isConfirmed(me) << 4 |
        mayStartOver(me) << 5 | mayGiveUp(me) << 6;
    for (pair = 0; pair < CANDIDATES * MEMBERS; pair++)
      now.canPair[pair] = isRead(pair) | isFlying(pair) << 1 | isLateFlying(pair) << 2 | mayBeSilent(pair) << 3 | mayCatchUp(pair) << 4;
  #ifdef FORGETS
    now.canForget = mayForget();
  #endif
  }

  static void begin(void) {
    int i, other;
    now.lastWrite = now.acceptedWrite[2] = 1;
    now.accepters[2] = 7;
    for (i = 0; i < MEMBERS; i++) {
      now.member[i].promised = FORWARD(2);
      now.member[i].accepted = 2;
      now.member[i].write = 1;
      now.cand[0].to[i].answer = GIVEN;
      now.cand[0].to[i].kept = now.member[i];
  #ifdef FORGETS
      now.cand[0].knows.at[i] = now.cand[1].knows.at[i] = FORWARD(2);
      for (other = 0; other < MEMBERS; other++) now.seen[i].at[other] = FORWARD(2);
  #endif
    }
    now.cand[0].puts = PUTS_A;
    now.cand[1].puts = PUTS_B;
    now.cand[0].known = now.cand[1].known = 1;
    now.cand[0].leads = 1;
    now.cand[0].ballot = 2;
  #ifdef FAST_AFTER_REPAIR
    now.cand[0].ledBy = 2;
  #endif
    afterwards();
  }
}
