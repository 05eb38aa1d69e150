/** The part of a pool that announces new connections. Not every pool has it. */
interface Announcing {
  on?(event: string, listener: (connection: object) => void): unknown;
}

/**
 * The number of connections without an announcement after which the pool counts as one that announces none. A pool may have made
 * some before this process listened to it, but hardly more than this.
 */
const MOST_UNANNOUNCED = 100;

const trusts = new WeakMap<object, PoolTrust>();

/** All stores on a pool share its {@link PoolTrust}. */
export function trustOf(pool: object, newConnection: string): PoolTrust {
  const known = trusts.get(pool);
  if (known) return known;
  const trust = new PoolTrust();
  trust.listenTo(pool, newConnection);
  trusts.set(pool, trust);
  return trust;
}

/**
 * Records when each connection of one pool last answered. A connection may be used only if that is recent enough. Connections
 * often die together and without an error: a gateway forgot them, or their server became a replica.
 */
export class PoolTrust {
  readonly #lastAnswer = new WeakMap<object, number>();
  #announces = false;
  /** A counter of answers and sends. It orders them in place of a clock. */
  #instant = 0;
  #doubtedUntil = 0;
  #announced = 0;
  #unannounced = 0;

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

  doubt(instant: number): void {
    this.#doubtedUntil = Math.max(this.#doubtedUntil, instant);
  }

  /** Takes connections from the pool until one is trusted, and discards the others. */
  async get<C>(take: () => Promise<C>, keyOf: (connection: C) => object, discard: (connection: C) => void): Promise<C> {
    for (;;) {
      const announced = this.#announced;
      const connection = await take();
      // A pool may announce another object than the one that it hands out. A connection that was announced during `take` is new
      // in any case.
      const isNew = announced !== this.#announced;
      const lastAnswer = this.#lastAnswer.get(keyOf(connection)) ?? this.#answerOfUnknown(isNew);
      if (isNew || lastAnswer >= this.#doubtedUntil) return connection;
      discard(connection);
    }
  }

  /**
   * Returns the last answer of a connection that has none recorded. If the pool announces connections, this one is older than the
   * pool's first store, and is not trusted (0). If the pool announces none, the connection is trusted (`Infinity`).
   */
  #answerOfUnknown(isNew: boolean): number {
    if (!isNew && this.#announced === 0 && (this.#unannounced += 1) > MOST_UNANNOUNCED) this.#announces = false;
    return this.#announces ? 0 : Infinity;
  }
}
