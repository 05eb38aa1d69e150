/**
 * The part of a test runner that the suite needs. The `describe` and `it` of Vitest, Jest or Mocha fit unchanged; those of
 * `node:test` take the timeout in an object.
 */
export interface Runner {
  /** Groups the tests that `body` registers; called once for a subject. */
  describe(name: string, body: () => void): void;
  /** Registers one test, which passes if the promise resolves. @param timeoutMs the time that it may take on a slow machine. */
  it(name: string, body: () => Promise<void>, timeoutMs?: number): void;
}
