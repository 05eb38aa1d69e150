import { createHash, timingSafeEqual } from "node:crypto";

/** Reports whether a request has the token. A wrong token takes as long as the right one, so the time reveals nothing. */
export function hasBearerToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
