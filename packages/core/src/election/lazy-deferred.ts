/** A deferred result that creates its promise on first access, because most are never awaited. */
export class LazyDeferred<T> {
  #asked: PromiseWithResolvers<T> | undefined;
  #settle: ((asked: PromiseWithResolvers<T>) => void) | undefined;

  get promise(): Promise<T> {
    if (!this.#asked) {
      this.#asked = Promise.withResolvers();
      this.#settle?.(this.#asked);
    }
    return this.#asked.promise;
  }

  /** Does nothing if it has settled already. */
  resolve(value: T): void {
    this.#settleBy(({ resolve }) => resolve(value));
  }

  /** As `resolve`. A rejection causes no unhandled rejection if nobody has read `promise`. */
  reject(error: Error): void {
    this.#settleBy(({ reject }) => reject(error));
  }

  #settleBy(settle: (asked: PromiseWithResolvers<T>) => void): void {
    if (this.#settle) return;
    this.#settle = settle;
    if (this.#asked) settle(this.#asked);
  }
}
