/* The steps of a process and of the members, and the claim: two processes are never valid at once. */

c_code {
  #define FORWARD(ballot) ((ballot) + PROCESSES)
  #define TELL if (readtrail) printf("\nSTEP %c ", 'A' + me), printf
  #define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }

  extern int readtrail;
  static const char *kinds[] = { "to complete what is split", "to renew its lease", "to take over", "for an order" };
  /* The names of the members in the account of a run: see sortMembers. */
  static int names[MEMBERS] = { 1, 2, 3 };

  static int isSame(struct Kept *one, struct Kept *other) { return memcmp(one, other, sizeof(struct Kept)) == 0; }
  static struct Kept *keptAt(int i) { return &now.member[i].kept; }
  static int atMost(int end, int age) { return age < end ? age : end; }

  /* The last member's clock is wrong. It shows the highest age for any nonce. */
  static int shownAge(int i) {
    if (i == 2) return LEASE;
    return now.member[i].age;
  }

  static int topOf(int set) {
    int i, top = MEMBERS;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1 && (top == MEMBERS || keptAt(i)->accepted > keptAt(top)->accepted)) top = i;
    return top;
  }

  static int isChosen(int set) {
    int i, shown = 0;
    for (i = 0; i < MEMBERS; i++) shown += set >> i & 1 && keptAt(i)->accepted == keptAt(topOf(set))->accepted;
    return shown >= MAJORITY;
  }

  #ifdef ONE_SHOWS
  #define SHOWING 1
  #else
  #define SHOWING MAJORITY
  #endif

  /* Reports whether every member of a majority shows, by its own clock, that a lease has passed since it got the nonce. */
  static int isOld(int set, int write) {
    int i, old = 0;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1 && shownAge(i) >= LEASE)
  #ifdef OF_ANY_NONCE
      old++;
  #else
      old += now.nonce[keptAt(i)->write] == now.nonce[write];
  #endif
    return old >= SHOWING;
  }

  static void closeRound(int me) {
    struct Process *p = &now.process[me];
    p->isOpen = p->isConfirmed = p->redates = p->proposed = 0;
    memset(p->to, 0, sizeof(p->to));
  }

  /* A new write, in place of another one. */
  static void propose(int me, int kind, int write) {
    struct Process *p = &now.process[me];
    p->proposed = ++now.lastWrite;
    now.base[p->proposed] = write;
    now.owner[p->proposed] = kind == ORDER ? now.owner[write] : me;
    now.nonce[p->proposed] = kind == ORDER ? now.nonce[write] : p->proposed;
    if (kind == ORDER) return;
    p->pending = p->proposed;
    p->sent = 0;
  }

  /* The process has heard that its own write is chosen. Its lease counts from before that write was begun. */
  static void hold(int me) {
    struct Process *p = &now.process[me];
    p->pending = 0;
    if (p->sent >= VALID) { MET("a lease that is confirmed too late") p->sent = VALID; return; }
    if (p->leads == 0) MET("a takeover")
    p->leads = 1;
  #ifdef COUNT_FROM_REPLY
    p->held = 0;
  #else
    p->held = p->sent;
  #endif
    p->sent = VALID;
  }

  /* Reads the members of a set, has them promise a ballot, and sends them the write to accept. */
  static void beginRound(int me, int kind, int set) {
    struct Process *p = &now.process[me];
    int i, chosen = isChosen(set), write = keptAt(topOf(set))->write, ballot = p->lastBallot;
    closeRound(me);
    if (chosen && p->pending != 0 && write == p->pending) { TELL("finds its write %d", write); MET("a write found by reading") hold(me); return; }
    int isAgain = p->pending != 0 && now.base[p->pending] == write && kind != ORDER && kind != REPAIR;
    if (chosen != (kind != REPAIR)) return;
    if (kind == RENEWAL && (now.owner[write] != me || !p->leads)) return;
    if (kind == TAKEOVER && !isOld(set, write)) return;
    if (kind != REPAIR && !isAgain && now.lastWrite >= LAST_WRITE) return;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1 && keptAt(i)->promised > ballot) ballot = keptAt(i)->promised;
    ballot += 1 + (ballot + 1 + me) % PROCESSES;
    if (ballot > LAST_BALLOT) return;
    TELL("begins a round %s, with ballot %d of members %d", kinds[kind], ballot, set);
    p->isOpen = 1;
    p->ballot = p->lastBallot = ballot;
    if (isAgain) { p->proposed = p->pending; MET("a write that is sent again") }
    else if (kind == REPAIR) p->proposed = write;
    else propose(me, kind, write);
    if (kind == ORDER) MET("an order")
    if (kind == REPAIR) MET("a split is completed")
    p->redates = kind == RENEWAL || kind == TAKEOVER;
  #ifdef KEEPS_WHAT_IS_SENT_AGAIN
    p->redates = 0;
    if (isAgain) p->sent = 0;
  #endif
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) {
      keptAt(i)->promised = ballot;
      p->to[i].state = SENT;
      p->to[i].own = *keptAt(i);
    }
  }

  /* A member accepts. It dates the nonce, unless it keeps this nonce already. */
  static void accept(int me, int i, int isHeard) {
    struct Process *p = &now.process[me];
    struct Kept after = { FORWARD(p->ballot), p->ballot, p->proposed };
    int taken = 0, other;
    TELL("has write %d accepted by member %d, which has kept its nonce for %d units", p->proposed, names[i],
      now.nonce[keptAt(i)->write] == now.nonce[p->proposed] ? now.member[i].age : 0);
  #ifdef KEEPS_BY_WHAT_IS_CHOSEN
    if (p->redates) now.member[i].age = 0;
  #else
    if (p->redates || now.nonce[keptAt(i)->write] != now.nonce[p->proposed]) now.member[i].age = 0;
  #endif
    *keptAt(i) = after;
    if (!isHeard) { TELL("does not hear of that"); p->to[i].state = UNHEARD; return; }
    p->to[i].state = TAKEN;
    p->to[i].own = after;
    for (other = 0; other < MEMBERS; other++) taken += p->to[other].state == TAKEN;
    if (p->isConfirmed || taken < MAJORITY) return;
    TELL("has a majority for write %d", p->proposed);
    p->isConfirmed = 1;
    if (p->pending != 0 && p->proposed == p->pending) hold(me);
  }

  static void arrive(int me, int i, int isHeard) {
    struct Process *p = &now.process[me];
    if (isSame(keptAt(i), &p->to[i].own)) { accept(me, i, isHeard); return; }
    TELL("is refused by member %d", names[i]);
    if (p->isConfirmed) p->to[i].state = REFUSED;
    else closeRound(me);
  }

  static void catchUp(int me, int i) {
    MET("a member is caught up")
    accept(me, i, 1);
  }

  /* A renewal without a prepare, on what the last round has written itself. */
  static int mayGoOn(int me) {
    struct Process *p = &now.process[me];
    int i, refused = 0;
    for (i = 0; i < MEMBERS; i++) refused += p->to[i].state == REFUSED;
    if (me != 0) return 0;
    return p->isOpen && p->isConfirmed && p->redates && p->leads && refused == 0 && now.lastWrite < LAST_WRITE;
  }

  static void goOn(int me) {
    struct Process *p = &now.process[me];
    int i, before = p->proposed;
    MET("a renewal without a prepare")
    p->isConfirmed = 0;
    p->ballot = p->lastBallot = FORWARD(p->ballot);
    propose(me, RENEWAL, before);
    TELL("sends renewal %d without a prepare", p->proposed);
    for (i = 0; i < MEMBERS; i++) {
      if (p->to[i].state == TAKEN) p->to[i].state = SENT;
      else memset(&p->to[i], 0, sizeof(struct Link));
    }
  }

  static void tick(void) {
    int i, me;
    for (i = 0; i < MEMBERS; i++) now.member[i].age = atMost(LEASE, now.member[i].age + FAST);
    for (me = 0; me < PROCESSES; me++) {
      struct Process *p = &now.process[me];
      p->held = atMost(VALID, p->held + SLOW);
      p->sent = atMost(VALID, p->sent + SLOW);
    }
  }

  /* Of a write, only the nonce and the order of writes matter. State that is never read again is dropped. */
  static void letGo(void) {
    int me, i;
    now.member[2].age = shownAge(2);
    for (me = 0; me < PROCESSES; me++) {
      struct Process *p = &now.process[me];
      if (p->held >= VALID) p->leads = 0;
      if (!p->leads) p->held = VALID;
      if (p->pending == 0) p->sent = VALID;
      if (!p->isOpen) p->ballot = 0;
      for (i = 0; i < MEMBERS; i++) if (p->to[i].state != SENT && p->to[i].state != TAKEN) memset(&p->to[i].own, 0, sizeof(struct Kept));
    }
  }

  #define SWAP(type, one, other) { type kept = one; one = other; other = kept; }

  /* The members whose clocks are right are alike. Of two states that differ in which is which, one is enough. */
  static void sortMembers(void) {
    int me, difference = memcmp(&now.member[0], &now.member[1], sizeof(struct Member));
    for (me = 0; me < PROCESSES && difference == 0; me++)
      difference = memcmp(&now.process[me].to[0], &now.process[me].to[1], sizeof(struct Link));
    if (difference >= 0) return;
    SWAP(struct Member, now.member[0], now.member[1])
    for (me = 0; me < PROCESSES; me++) SWAP(struct Link, now.process[me].to[0], now.process[me].to[1])
    SWAP(int, names[0], names[1])
  }

  static void afterwards(void) {
    int me, i;
    letGo();
    sortMembers();
    now.isWrong = now.process[0].leads && now.process[1].leads;
    if (now.isWrong) {
      for (me = 0; me < PROCESSES; me++) printf("\nVALID %c %d %d\n", 'A' + me, now.process[me].held, VALID);
      printf("\nVIOLATED two candidates are valid at once\n");
    }
    for (me = 0; me < PROCESSES; me++) {
      struct Process *p = &now.process[me];
      int can = 1 << REPAIR | (me == 0 ? p->leads << RENEWAL : !p->leads << TAKEOVER | 1 << ORDER);
  #ifdef NO_ORDERS
      can &= ~(1 << ORDER);
  #endif
      can |= mayGoOn(me) << 4;
      for (i = 0; i < MEMBERS; i++)
        can |= (p->isOpen && p->to[i].state == SENT) << 5 + i |
          (p->isOpen && p->to[i].state == NOT_SENT && keptAt(i)->promised <= p->ballot) << 8 + i;
      now.can[me] = can;
    }
  }

  static void begin(void) {
    int i;
    struct Kept kept = { FORWARD(2), 2, 1 };
    struct Process *p = &now.process[0];
    now.lastWrite = now.nonce[1] = 1;
    for (i = 0; i < MEMBERS; i++) {
      now.member[i].kept = kept;
      p->to[i].state = TAKEN;
      p->to[i].own = kept;
    }
    /* A leads. */
    p->leads = p->isOpen = p->isConfirmed = p->redates = p->proposed = 1;
    p->ballot = p->lastBallot = 2;
    now.process[1].held = VALID;
    afterwards();
  }
}
