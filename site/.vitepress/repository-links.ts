import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";

const REPOSITORY = "https://github.com/leasehold/leasehold/blob/main";
/** The files of the repository that are pages of the site. */
const PAGES = /^(?:docs|packages\/[^/]+|infra\/(?!terrain)[^/]+)\/[^/]+\.md$/;
/** The pages that only the site has. They are at its root. */
const SITE_PAGES = /^site\/pages\/(.+)\.md$/;
/** A page of the repository that the site leaves out, because it is for maintainers. */
const LEFT_OUT = "docs/seed-systems.md";

/** Makes relative links to files that are no pages of the site lead to the repository. */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = (env as { readonly relativePath?: string }).relativePath ?? "";
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href !== null) token.attrSet("href", targetOf(href, page));
    }
  });
}

/**
 * Returns where a link of a page leads on the site.
 * @param from the path of the page in the repository
 */
export function targetOf(href: string, from: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(from), path);
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  const page = SITE_PAGES.exec(target)?.[1];
  if (page !== undefined) return `/${page}${suffix}`;
  return PAGES.test(target) && target !== LEFT_OUT ? href : `${REPOSITORY}/${target}${suffix}`;
}
