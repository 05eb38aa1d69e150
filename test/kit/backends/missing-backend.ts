const told = new Set<string>();

/**
 * Returns true if the tests of a backend have to be skipped, because it is missing for the given `reason` (`mariaDbMissing()` and
 * similar). Then it also prints that on stderr, once in each process. Use it as `describe.skipIf(await
 * isMissing(mariaDbMissing()))`.
 * @throws if it is missing although LEASEHOLD_ALL_BACKENDS=1 says that all backends are installed, as in CI.
 */
export async function isMissing(reason: Promise<string | undefined>): Promise<boolean> {
  const missing = await reason;
  if (missing === undefined) return false;
  if (process.env["LEASEHOLD_ALL_BACKENDS"] === "1") throw new Error(`${missing} (LEASEHOLD_ALL_BACKENDS=1 forbids to skip it)`);
  if (!told.has(missing)) process.stderr.write(`SKIPPED: ${missing}\n`);
  told.add(missing);
  return true;
}
