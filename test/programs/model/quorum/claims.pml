/* The claims, which must hold in every run: the record compares and swaps, and every answer agrees with it. */

c_code {
  #ifdef NO_FORWARD_PROMISE
  #define FORWARD(ballot) (ballot)
  #else
  #define FORWARD(ballot) ((ballot) + CANDIDATES)
  #endif
  #define TELL if (readtrail) printf("\nSTEP %c ", 'A' + me), printf
  #define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }

  extern int readtrail;
  /* The names of the members in the account of a run: see sortMembers. */
  static int names[MEMBERS] = { 1, 2, 3 };

  static int bits(int set) { return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1); }

  static int isChosenBallot(int ballot) { return bits(now.accepters[ballot]) >= MAJORITY; }

  /* Reports whether `older` is `newer`, or was replaced by it, directly or not. */
  static int isBelow(int older, int newer) {
    while (newer != 0 && newer != older) newer = now.parent[newer];
    return newer == older;
  }

  static int isChosen(int write) {
    int ballot;
    for (ballot = 1; ballot < BALLOTS; ballot++) if (isChosenBallot(ballot) && now.acceptedWrite[ballot] == write) return 1;
    return 0;
  }

  /* The write that was chosen under the highest ballot. */
  static int newest(void) {
    int ballot;
    for (ballot = BALLOTS - 1; ballot > 0; ballot--) if (isChosenBallot(ballot)) return now.acceptedWrite[ballot];
    return 0;
  }

  /* Of any two chosen writes one has replaced the other, or they are the same. */
  static int isOneLine(void) {
    int one, other;
    for (one = 1; one < BALLOTS; one++) for (other = one + 1; other < BALLOTS; other++)
      if (isChosenBallot(one) && isChosenBallot(other) && !isBelow(now.acceptedWrite[one], now.acceptedWrite[other])) return 0;
    return 1;
  }

  /* The answers of the last step. */
  static int answered, floorOfAnswer, stored, twoOfOneBallot;

  static void claim(void) {
    const char *what = 0;
    int write;
    if (twoOfOneBallot) what = "two writes have one ballot";
    if (!isOneLine()) what = "two writes replace the same one";
    if (answered && !isChosen(answered)) what = "a get answers what was never chosen";
    if (answered && isChosen(answered) && floorOfAnswer && !isBelow(floorOfAnswer, answered)) what = "a get answers what was replaced before it began";
    if (stored && !isChosen(stored)) what = "a put is told that it was stored, and was not";
    for (write = 1; write < WRITES; write++)
      if (now.turnedDown >> write & 1 && isChosen(write)) what = "a put is told that it was not stored, and is";
    answered = stored = twoOfOneBallot = 0;
    if (what) printf("\nVIOLATED %s\n", what);
    now.isWrong = what != 0;
  }

  static void noteAcceptance(int i, struct Kept *kept) {
    if (kept->accepted == 0) return;
    if (now.accepters[kept->accepted] && now.acceptedWrite[kept->accepted] != kept->write) twoOfOneBallot = 1;
    now.acceptedWrite[kept->accepted] = kept->write;
    now.accepters[kept->accepted] |= 1 << i;
  }
}
