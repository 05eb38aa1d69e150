const told = new Set<string>();

/**
 * Returns true if the tests of a backend have to be skipped, since it is missing for the `reason` given (`mariaDbMissing()` and
 * its like). Says so on stderr then, once in each process. For `describe.skipIf(await isMissing(mariaDbMissing()))`.
 * @throws if it is missing although LEASEHOLD_ALL_BACKENDS=1 says that everything is there, as in CI.
 */
export async function isMissing(reason: Promise<string | undefined>): Promise<boolean> {
  const missing = await reason;
  if (missing === undefined) return false;
  if (process.env["LEASEHOLD_ALL_BACKENDS"] === "1") throw new Error(`${missing} (LEASEHOLD_ALL_BACKENDS=1 forbids to skip it)`);
  if (!told.has(missing)) process.stderr.write(`SKIPPED: ${missing}\n`);
  told.add(missing);
  return true;
}
