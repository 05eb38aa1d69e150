/** What was found at each member by looks that may overlap: the one that began last decides, in whatever order they end. */
export class Looks<T> implements Iterable<readonly [name: string, shown: T]> {
  #begun = 0;
  readonly #last = new Map<string, { readonly begun: number; readonly shown: T | undefined }>();

  /** Begins a look at a member. Returns what takes down what it has shown; `undefined`: nothing. */
  begin(name: string): (shown: T | undefined) => void {
    this.#begun += 1;
    const begun = this.#begun;
    return (shown) => {
      if (begun > (this.#last.get(name)?.begun ?? 0)) this.#last.set(name, { begun, shown });
    };
  }

  /** What looks have shown that have begun until now is past, also of those that have not ended. */
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
