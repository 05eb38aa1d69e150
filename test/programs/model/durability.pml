/*
 * A store that shows a write before the write is durable. PostgreSQL does so after a cancelled commit, and MySQL with
 * semi-synchronous replication. The log of writes is a prefix: the durable record is the record of some earlier time. An
 * acknowledgement says that a write is durable, and every write before it too. A failover brings the durable record back, even
 * with a version that had passed.
 */

#ifdef UNDURABLE
/* A connection delivers a statement once. */
#define IS_DELIVERED_AGAIN false
#define ALL_IS_DURABLE \
  durable.term = record.term; durable.owner = record.owner; durable.termId = record.termId; durable.nonce = record.nonce
#ifdef ACKNOWLEDGED_EARLY
#define IS_ACKNOWLEDGED(write) true
#else
#define IS_ACKNOWLEDGED(write) write.acknowledged
#endif

inline replicate() {
  printf("\nSTORE writes down what it has shown");
  ALL_IS_DURABLE;
  cand[0].latest.acknowledged = cand[0].latest.stored;
  cand[1].latest.acknowledged = cand[1].latest.stored
}

/* A sender that waits for an acknowledgement gets none. An acknowledgement under way arrives. */
inline fail_over() {
  printf("\nSTORE fails over, and loses what is not durable");
  c_code { MET("a failover that loses what was shown") }
  record.term = durable.term; record.owner = durable.owner; record.termId = durable.termId; record.nonce = durable.nonce;
  if
  :: !cand[0].latest.acknowledged -> cand[0].latest.stored = false
  :: else
  fi;
  if
  :: !cand[1].latest.acknowledged -> cand[1].latest.stored = false
  :: else
  fi
}
#else
#define ALL_IS_DURABLE
#define IS_DELIVERED_AGAIN true
#define IS_ACKNOWLEDGED(write) true
#endif
