/** Leaves out what differs from run to run. */
export function steady(line: string): string {
  return (
    line
      // Of two requests at once either may fail first.
      .replace(/'leasehold-quorum-marker'/, "'leasehold-quorum-members'")
      .replace(/ \[request [^\]]*\]/, "")
      .replace(/EAI_AGAIN/, "ENOTFOUND")
      // Where a first write that could win at once was too slow, on a busy machine, a look follows.
      .replace(/'(?:get|put)' of/, "'get' or 'put' of")
      .replace(/in \d+ s\.$/, "in 15 s.")
      // Where a first request was too slow, on a busy machine, the outage has begun by that.
      .replace(
        /^The store still fails, for [\d.]+ s now\. (.*)$/,
        "$1 It is asked again until it answers; a leader that cannot renew steps down in time.",
      )
  );
}
