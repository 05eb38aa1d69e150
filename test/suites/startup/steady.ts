/** Removes the parts that differ from run to run. */
export function steady(line: string): string {
  return (
    line
      // Of two requests at once either may fail first.
      .replace(/'leasehold-quorum-marker'/, "'leasehold-quorum-members'")
      .replace(/ \[request [^\]]*\]/, "")
      .replace(/EAI_AGAIN/, "ENOTFOUND")
      // On a busy machine a first write that could win at once may be too slow. A poll follows it.
      .replace(/'(?:get|put)' of/, "'get' or 'put' of")
      .replace(/in \d+ s\.$/, "in 15 s.")
      // On a busy machine a first request may be too slow. The outage then begins with it.
      .replace(
        /^The store still fails, for [\d.]+ s now\. (.*)$/,
        "$1 Requests are repeated until the store answers; a leader that cannot renew steps down in time.",
      )
  );
}
