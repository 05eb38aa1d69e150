/** The part of a pool that tells of new connections, where it does. */
interface Announcing {
  on?(event: string, listener: (connection: object) => void): unknown;
}

/** The most connections that a pool may have made before it was listened to. A pool that hands out more unannounced ones announces none. */
const MOST_UNANNOUNCED = 100;

const trusts = new WeakMap<object, PoolTrust>();

/** Returns what this process knows of a pool's connections. All stores on that pool share it. */
export function trustOf(pool: object, newConnection: string): PoolTrust {
  const known = trusts.get(pool);
  if (known) return known;
  const trust = new PoolTrust();
  trust.listenTo(pool, newConnection);
  trusts.set(pool, trust);
  return trust;
}

/**
 * When each connection of one pool has last answered, and from when on it must have to be used. Connections die together, and
 * often without a word: a gateway forgot them, or their server became a replica.
 */
export class PoolTrust {
  readonly #lastAnswer = new WeakMap<object, number>();
  #announces = false;
  /** Counts answers and sends. */
  #instant = 0;
  #doubtedUntil = 0;
  #announced = 0;
  #unannounced = 0;

  /** Hears of the pool's new connections, by an event of that name. */
  listenTo(pool: Announcing, newConnection: string): void {
    this.#announces = typeof pool.on === "function";
    pool.on?.(newConnection, (connection) => {
      this.#announced += 1;
      this.answered(connection);
    });
  }

  instant(): number {
    return (this.#instant += 1);
  }

  answered(connection: object): void {
    this.#lastAnswer.set(connection, this.instant());
  }

  /** A call that was sent at that instant got no answer. */
  doubt(instant: number): void {
    this.#doubtedUntil = Math.max(this.#doubtedUntil, instant);
  }

  /** Takes connections out of the pool until it has one that is trusted, and discards the others. */
  async get<C>(take: () => Promise<C>, keyOf: (connection: C) => object, discard: (connection: C) => void): Promise<C> {
    for (;;) {
      const announced = this.#announced;
      const connection = await take();
      // A pool may announce other objects than it hands out: one that was made just now is new all the same.
      const isNew = announced !== this.#announced;
      const lastAnswer = this.#lastAnswer.get(keyOf(connection)) ?? this.#answerOfUnknown(isNew);
      if (isNew || lastAnswer >= this.#doubtedUntil) return connection;
      discard(connection);
    }
  }

  /** A connection that was never announced is older than its pool's first store; but for a pool that announces none. */
  #answerOfUnknown(isNew: boolean): number {
    if (!isNew && this.#announced === 0 && (this.#unannounced += 1) > MOST_UNANNOUNCED) this.#announces = false;
    return this.#announces ? 0 : Infinity;
  }
}
