import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";

const REPOSITORY = "https://github.com/leasehold/leasehold/blob/main";
/** The files of the repository that are pages of the site. */
const PAGES = /^(?:docs|packages\/[^/]+|infra\/(?!terrain)[^/]+|site\/pages)\/[^/]+\.md$/;

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
 * @param page the path of the page in the repository
 */
export function targetOf(href: string, page: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(page), path);
  if (PAGES.test(target)) return href;
  return `${REPOSITORY}/${target}${anchor === undefined ? "" : `#${anchor}`}`;
}
