/** What others may wait for. Its promise is made for the first who does: for most of it nobody ever waits. */
export class Expected<T> {
  #asked: PromiseWithResolvers<T> | undefined;
  #settle: ((asked: PromiseWithResolvers<T>) => void) | undefined;

  get promise(): Promise<T> {
    if (!this.#asked) {
      this.#asked = Promise.withResolvers();
      this.#settle?.(this.#asked);
    }
    return this.#asked.promise;
  }

  /** Does nothing once it has settled. */
  resolve(value: T): void {
    this.#settleBy(({ resolve }) => resolve(value));
  }

  /** As `resolve`. A rejection that nobody waits for is none. */
  reject(error: Error): void {
    this.#settleBy(({ reject }) => reject(error));
  }

  #settleBy(settle: (asked: PromiseWithResolvers<T>) => void): void {
    if (this.#settle) return;
    this.#settle = settle;
    if (this.#asked) settle(this.#asked);
  }
}
