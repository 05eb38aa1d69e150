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
 * Returns a page as Markdown whose links lead to the Markdown of the site's pages, or to the repository. Code stays as it is.
 * @param from the path of the page in the repository
 * @param base the path of the site on its host, which ends with a slash
 */
export function servedText(text: string, from: string, base: string): string {
  const parts = text.split(/(```[\s\S]*?```|`[^`]*`)/);
  return parts
    .map((part, at) =>
      at % 2 === 1 ? part : part.replaceAll(/(?<=\]\()[^)\s]+(?=\))/g, (href) => servedTarget(href, from, base)),
    )
    .join("");
}

function servedTarget(href: string, from: string, base: string): string {
  const target = targetOf(href, from);
  if (/^(?:[a-z]+:|#)/.test(target)) return target;
  const { pathname, hash } = new URL(target, `file:///${from}`);
  return `${base}${pathname.slice(1).replace(/(?:\.md)?$/, ".md")}${hash}`;
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
