/** Prints one line per check when it ends, and counts the failures. */
export class Report {
  #passed = 0;
  #failed = 0;

  /** Runs a check, which fails by throwing. Returns its result, or `undefined` if it failed. */
  async check<T>(name: string, run: () => T | Promise<T>): Promise<T | undefined> {
    try {
      const result = await run();
      this.#passed += 1;
      console.log(`ok    ${name}`);
      return result;
    } catch (error) {
      this.#failed += 1;
      const reason = error instanceof Error ? error.message : String(error);
      console.log(`FAIL  ${name}\n${reason.trimEnd().replace(/^/gm, "      ")}`);
      return undefined;
    }
  }

  /** Prints the counts, and returns the exit code. */
  summarize(): number {
    console.log(`packaging: ${this.#passed + this.#failed} checks, ${this.#failed} failed`);
    return this.#failed === 0 ? 0 : 1;
  }
}
