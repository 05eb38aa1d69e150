/*
 * A fleet's plan, its sessions and their reports. README.md in this folder says what is modelled, what is not, and why that is sound.
 * One step at a time is chosen freely. No step ever has to happen, so the runs include every delay, loss and freeze.
 */

#define SLOTS 2
#ifndef SHARDS
#define SHARDS 1
#endif
/* The bounds of a run. Revisions of the plan and sessions are numbered from 1. */
#ifndef REVISIONS
#define REVISIONS 3
#endif
#ifndef SESSIONS
#define SESSIONS 2
#endif

/* The state of a slot's record. */
#define ABSENT 0
#define HELD 1
#define VACATED 2

/* A slot's record, or a copy of it. */
typedef Slot {
  byte state;
  byte id; /* the session that holds it, or held it last; 0: none */
  /* The session's report. */
  byte applied;
  bool stopping;
  bool drains[SHARDS];
  byte ended[SHARDS] /* the term of a shard that its task has given back; 0: none */
}

typedef Plan {
  byte revision;
  byte id[SLOTS]; /* the session of the slot's row; 0: no row */
  byte asked[SLOTS];
  byte slot[SHARDS]; /* 1 + the holder's slot; 0: free */
  byte since[SHARDS];
  bool leaving[SHARDS]
}

typedef Member {
  byte id; /* its session; 0: none */
  byte slot;
  byte applied;
  bool stopping;
  byte held[SHARDS]; /* the term of the shard whose task runs; 0: none */
  bool drains[SHARDS];
  byte let_go[SHARDS]; /* the term of the shard that it has let go in this session */
  bool gave_back[SHARDS]; /* the task has returned or failed, so that a report names it */
  /* What the plan grants to this session, as the member has read it. It carries this out at any later time. */
  byte read;
  byte grants[SHARDS];
  bool leaving[SHARDS]
}

/* The slots as the store has them. The last one is slot 0 as a list shows it that lags by any time. */
#define LAGS SLOTS
Slot slot[SLOTS + 1];
Plan plan;
Member member[2];
/* A bit for each session whose lease runs by its member's clock. */
byte valid;
byte sessions;
bool deleted;
/* The highest term of each shard that has begun. */
byte begun[SHARDS];

#define BIT(id) (1 << (id))
#define IS_VALID(id) ((valid & BIT(id)) != 0)
#define M member[me]
#define S slot[M.slot]
#define TELL printf("\nSTEP %c ", 'A' + me); printf
#define STORE printf("\nSTORE "); printf
#define SHOWN(what) c_code { MET(what) }
#define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }
#define CLAIM(holds, sentence) \
  if \
  :: !(holds) -> \
     printf("\nVIOLATED "); \
     printf(sentence); \
     assert(false) \
  :: else \
  fi
#define HOLDS(who, shard) (member[who].held[shard] > 0 && IS_VALID(member[who].id))

/* --- A member --- */

#define CLEAR_REPORT(record) \
  record.applied = 0; \
  record.stopping = false; \
  for (nth : 0 .. SHARDS - 1) { record.drains[nth] = false; record.ended[nth] = 0 } \
  nth = 0

#define COPY_SLOT(to, from) \
  slot[to].state = slot[from].state; \
  slot[to].id = slot[from].id; \
  slot[to].applied = slot[from].applied; \
  slot[to].stopping = slot[from].stopping; \
  for (nth : 0 .. SHARDS - 1) { slot[to].drains[nth] = slot[from].drains[nth]; slot[to].ended[nth] = slot[from].ended[nth] } \
  nth = 0

#define JOIN(me, which) \
  sessions++; \
  member[me].id = sessions; \
  member[me].slot = which; \
  valid = valid | BIT(sessions); \
  slot[which].state = HELD; \
  slot[which].id = sessions; \
  CLEAR_REPORT(slot[which])

/* The record keeps the session's id. */
#define VACATE(which) slot[which].state = VACATED; CLEAR_REPORT(slot[which])

/* A session's end is the end of all its shards. */
inline lose() {
  M.id = 0;
  M.slot = 0;
  M.applied = 0;
  M.stopping = false;
  M.read = 0;
  for (nth : 0 .. SHARDS - 1) {
    M.held[nth] = 0;
    M.drains[nth] = false;
    M.let_go[nth] = 0;
    M.gave_back[nth] = false;
    M.grants[nth] = 0;
    M.leaving[nth] = false
  }
  nth = 0
}

inline read_plan() {
  M.read = plan.revision;
  for (nth : 0 .. SHARDS - 1) {
    M.grants[nth] = (plan.slot[nth] == M.slot + 1 && plan.id[M.slot] == M.id -> plan.since[nth] : 0);
    M.leaving[nth] = (M.grants[nth] > 0 -> plan.leaving[nth] : false)
  }
  nth = 0
}

#ifdef THAWED_START
#define MAY_START true
#else
#define MAY_START IS_VALID(M.id)
#endif
#ifdef NOTE_FORGOTTEN
#define KEEPS_NOTE false
#else
#define KEEPS_NOTE (M.grants[nth] == M.let_go[nth])
#endif

inline carry_out() {
  M.applied = M.read;
  for (nth : 0 .. SHARDS - 1) {
    if
    :: M.let_go[nth] > 0 && !KEEPS_NOTE -> M.let_go[nth] = 0; M.gave_back[nth] = false
    :: else
    fi;
    if
    :: M.held[nth] > 0 && (M.grants[nth] != M.held[nth] || M.leaving[nth]) -> M.drains[nth] = true
    :: else
    fi;
    if
    /* The old task of the shard still runs, in an earlier term. */
    :: M.held[nth] > 0 && M.grants[nth] > 0 && M.grants[nth] != M.held[nth] ->
       M.let_go[nth] = M.grants[nth];
       M.gave_back[nth] = true
    :: M.held[nth] == 0 && M.grants[nth] > 0 && !M.leaving[nth] && !M.stopping && M.let_go[nth] == 0 ->
       M.held[nth] = M.grants[nth];
       CLAIM(IS_VALID(M.id), "a task begins on a session that is over");
       CLAIM(!(HOLDS(0, nth) && HOLDS(1, nth)), "a shard has two valid holders");
       CLAIM(M.held[nth] > begun[nth], "a term begins twice, or after a later one");
       begun[nth] = M.held[nth]
    :: else
    fi
  }
  nth = 0
}

inline end_task(gives_back) {
  CLAIM(gives_back || plan.leaving[nth] || plan.slot[nth] != M.slot + 1 || plan.since[nth] != M.held[nth],
        "the plan keeps a shard with a member that has left it");
  /* A later term of the shard may have been refused meanwhile. */
  if
  :: M.let_go[nth] < M.held[nth] -> M.let_go[nth] = M.held[nth]; M.gave_back[nth] = gives_back
  :: else
  fi;
  M.held[nth] = 0;
  M.drains[nth] = false;
  nth = 0
}

inline report() {
  S.applied = M.applied;
  S.stopping = M.stopping;
  for (nth : 0 .. SHARDS - 1) {
    S.drains[nth] = M.held[nth] > 0 && (M.drains[nth] || M.stopping);
    S.ended[nth] = (M.gave_back[nth] -> M.let_go[nth] : 0)
  }
  nth = 0
}

#define MAY_WRITE (M.id > 0 && IS_VALID(M.id) && S.state == HELD && S.id == M.id)
#define MAY_LEAVE (MAY_WRITE && M.held[0] == 0 && M.held[SHARDS - 1] == 0)
#define MAY_JOIN(which) (M.id == 0 && sessions < SESSIONS && slot[which].state != HELD)

proctype process(byte me) {
  byte nth;
end:
  do
  :: d_step { MAY_JOIN(0) -> TELL("joins in slot 0"); JOIN(me, 0) }
  :: d_step { MAY_JOIN(1) -> TELL("joins in slot 1"); JOIN(me, 1) }
  :: d_step { IS_VALID(M.id) && M.read != plan.revision -> TELL("reads revision %d", plan.revision); read_plan() }
  :: d_step { M.id > 0 && M.read > M.applied && MAY_START -> TELL("carries out revision %d", M.read); carry_out() }
  :: d_step { IS_VALID(M.id) && M.drains[0] -> TELL("has drained a shard"); end_task(false) }
  :: d_step { IS_VALID(M.id) && M.held[0] > 0 && !M.drains[0] -> TELL("gives a shard back"); end_task(true) }
#if SHARDS > 1
  :: d_step { IS_VALID(M.id) && M.drains[1] -> nth = 1; TELL("has drained the other shard"); end_task(false) }
#endif
#ifdef STOPS
  :: d_step { IS_VALID(M.id) && !M.stopping -> TELL("is to stop"); M.stopping = true }
#endif
  :: d_step { MAY_WRITE -> TELL("reports"); report() }
  :: d_step { MAY_LEAVE -> TELL("leaves"); valid = valid & ~BIT(M.id); VACATE(M.slot); lose() }
  :: d_step { IS_VALID(M.id) -> TELL("has a lease that ends"); valid = valid & ~BIT(M.id) }
  :: d_step { M.id > 0 && !IS_VALID(M.id) -> TELL("notices that its session is over"); lose() }
  od
}

/* --- Coordinators: one acts on the store, and one on a list that lags. The later swap of two changes nothing. --- */

#define SEEN(which) slot[lag + which]
#define HOLDER (plan.slot[nth] - 1)
#ifdef ANY_SESSION_OF_THE_SLOT
#define SHOWS(which) (SEEN(which).state == HELD)
#else
#define SHOWS(which) (SEEN(which).state == HELD && SEEN(which).id == plan.id[which])
#endif
#ifdef FREE_WHEN_ASKED
#define IS_DONE true
#else
#define IS_DONE (SEEN(HOLDER).applied >= plan.asked[HOLDER])
#endif
#ifdef FREE_WHILE_DRAINING
#define DRAINS false
#else
#define DRAINS SEEN(HOLDER).drains[nth]
#endif
/* `letGo` of plan.ts. */
#define LET_GO \
  (plan.slot[nth] > 0 && (lag == 0 || HOLDER == 0) && SHOWS(HOLDER) && \
   (SEEN(HOLDER).ended[nth] == plan.since[nth] || !DRAINS && (SEEN(HOLDER).stopping || plan.leaving[nth] && IS_DONE)))
/* `over` of slot-watch.ts: the record proves it, or has not shown the session for a whole lease, so that it is not valid. */
#ifdef ANY_VACATED_RECORD
#define ENDED(which) (slot[which].state == VACATED)
#else
#define ENDED(which) (slot[which].state == VACATED && slot[which].id == plan.id[which])
#endif
#ifdef MISSING_IS_OVER
#define LEASE_PASSED(which) true
#else
#define LEASE_PASSED(which) !IS_VALID(plan.id[which])
#endif
#define GONE(which) ((slot[which].state == ABSENT || slot[which].id != plan.id[which]) && LEASE_PASSED(which))
#ifdef EXPIRED_IS_OVER
#define OVER(which) true
#else
#define OVER(which) (ENDED(which) || GONE(which))
#endif

/* A freed shard changes no revision, because no member acts on it. The next grant has a later one. */
#define FREE plan.slot[nth] = 0; plan.since[nth] = 0; plan.leaving[nth] = false

/* A session gets a row if its slot has none. */
#define MAY_GRANT(which) \
  (lag == 0 && plan.revision < REVISIONS && plan.slot[nth] == 0 && SEEN(which).state == HELD && !SEEN(which).stopping && \
   (plan.id[which] == 0 || plan.id[which] == SEEN(which).id))

#define GRANT(which) \
  plan.revision++; \
  plan.id[which] = SEEN(which).id; \
  plan.slot[nth] = which + 1; \
  plan.since[nth] = plan.revision; \
  if \
  :: plan.revision > 2 -> SHOWN("a shard that has a second holder") \
  :: else \
  fi

#define MAY_ASK (plan.revision < REVISIONS && plan.slot[nth] > 0 && !plan.leaving[nth])

inline ask() {
  plan.revision++;
  plan.leaving[nth] = true;
  plan.asked[HOLDER] = plan.revision
}

inline drop(which) {
  for (nth : 0 .. SHARDS - 1) {
    if
    :: plan.slot[nth] == which + 1 -> FREE
    :: else
    fi
  }
  nth = 0;
  plan.id[which] = 0;
  plan.asked[which] = 0
}

proctype coordinator(byte nth; byte lag) {
end:
  do
  :: d_step { MAY_GRANT(0) -> STORE("has a plan that grants shard %d to slot 0", nth); GRANT(0) }
  :: d_step { MAY_GRANT(1) -> STORE("has a plan that grants shard %d to slot 1", nth); GRANT(1) }
  :: d_step { LET_GO -> STORE("has a plan that frees shard %d", nth); SHOWN("a shard that a report frees"); FREE }
  :: d_step { lag == 0 && MAY_ASK -> STORE("has a plan that asks for shard %d", nth); ask() }
#ifdef LEAVING_UNDONE
  :: d_step { plan.revision < REVISIONS && plan.leaving[nth] -> plan.revision++; plan.leaving[nth] = false }
#endif
  od
}

proctype record(byte which) {
  byte nth;
end:
  do
  :: d_step { which == 0 -> COPY_SLOT(LAGS, 0) }
  :: d_step { plan.id[which] > 0 && OVER(which) -> STORE("has a plan without the session of slot %d", which); drop(which) }
  :: d_step { slot[which].state == HELD && !IS_VALID(slot[which].id) ->
       STORE("ends the expired session of slot %d", which);
       SHOWN("an expired session that is ended");
       VACATE(which)
     }
#ifdef DELETES
  :: d_step { !deleted && slot[which].state != ABSENT ->
       STORE("loses the record of slot %d", which);
       deleted = true;
       VACATE(which);
       slot[which].state = ABSENT;
       slot[which].id = 0
     }
#endif
  od
}

init {
  byte nth;
  d_step { JOIN(0, 0) }
  atomic {
    run process(0);
    run process(1);
    run record(0);
    run record(1);
    run coordinator(0, 0);
    run coordinator(0, LAGS);
#if SHARDS > 1
    run coordinator(1, 0);
    run coordinator(1, LAGS)
#endif
  }
}
