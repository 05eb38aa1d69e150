/**
 * The part of a test runner that the suite needs: the `describe` and `it` of Vitest, Jest or Mocha fit as they are, those of
 * `node:test` with the timeout in an object.
 */
export interface Runner {
  /** Groups what `body` registers; called once for a subject. */
  describe(name: string, body: () => void): void;
  /** Registers one test: it passes if the promise resolves. @param timeoutMs how long it may take on a slow machine. */
  it(name: string, body: () => Promise<void>, timeoutMs?: number): void;
}
