/** A lifecycle rule that deletes current objects, in a form that fits both services. */
export interface DeletingRule {
  readonly name: string;
  /** The prefix of the keys that it deletes. An empty prefix means all keys. */
  readonly prefix: string;
}

/**
 * Returns why the rules of a bucket delete leases, one text for each rule.
 * @param prefix the beginning of the leases' keys. @param ticks the beginning of the keys that may be deleted.
 */
export function refusedRules(rules: readonly DeletingRule[], prefix: string, ticks: string): readonly string[] {
  return rules
    .filter((rule) => !rule.prefix.startsWith(ticks) && (rule.prefix.startsWith(prefix) || prefix.startsWith(rule.prefix)))
    .map(
      ({ name }) =>
        `the lifecycle rule '${name}' deletes leases, and terms must not be lost. Limit it to another prefix, such as ${ticks}.`,
    );
}

/** Returns the warning about a setting that the account may not read. */
export function unknownSetting(setting: string, right: string): string {
  return `The bucket's ${setting} is not known, because ${right} is denied. Look at it by hand: no rule may delete leases.`;
}
