import { Token } from "cdktn";

/** @throws {Error} unless it can name a Cloud Run resource and its service account. `most` is what is left of the account's 30. */
export function checkServiceName(name: string, most: number): void {
  if (Token.isUnresolved(name) || (/^[a-z][a-z0-9-]*[a-z0-9]$/.test(name) && name.length >= 6 && name.length <= most)) return;
  throw new Error(
    `name is ${JSON.stringify(name)}; it must have 6 to ${most} lower-case letters, digits and hyphens, begin with a letter, and not ` +
      "end with a hyphen, since service accounts are called so too.",
  );
}
