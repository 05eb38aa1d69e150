/** The latest result for each member, from reads that may overlap. The read that began last decides, whichever ends last. */
export class LatestReads<T> implements Iterable<readonly [name: string, shown: T]> {
  #begun = 0;
  readonly #last = new Map<string, { readonly begun: number; readonly shown: T | undefined }>();

  /** Begins a read of a member. Returns a function that records its result; `undefined` stands for no result. */
  begin(name: string): (shown: T | undefined) => void {
    this.#begun += 1;
    const begun = this.#begun;
    return (shown) => {
      if (begun > (this.#last.get(name)?.begun ?? 0)) this.#last.set(name, { begun, shown });
    };
  }

  /** Discards the results of this member's reads that have begun until now, also of reads that have not ended. */
  forget(name: string): void {
    this.begin(name)(undefined);
  }

  get(name: string): T | undefined {
    return this.#last.get(name)?.shown;
  }

  *[Symbol.iterator](): Iterator<readonly [name: string, shown: T]> {
    for (const [name, { shown }] of this.#last) if (shown !== undefined) yield [name, shown];
  }
}
