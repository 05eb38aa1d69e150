import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";

const REPOSITORY = "https://github.com/leasehold/leasehold/blob/main";
/** The README of a package on npm needs the whole address of a picture. */
const PICTURES = "https://raw.githubusercontent.com/leasehold/leasehold/main/";
/** The files of the repository that are pages of the site, at the same paths. */
const PAGES = /^(?:packages\/[^/]+(?:\/orms)?|infra\/(?!terrain)[^/]+)\/[^/]+\.md$/;
/** The folder of all other pages, which are at the root of the site. */
const ROOT_PAGES = "site/pages/";

/** Makes relative links to files that are no pages of the site lead to the repository. The site has its own copy of each picture. */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = (env as { readonly relativePath?: string }).relativePath ?? "";
    const from = page.includes("/") ? page : ROOT_PAGES + page;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href !== null) token.attrSet("href", targetOf(href, from));
      const src = token.type === "image" ? token.attrGet("src") : null;
      if (src?.startsWith(PICTURES)) token.attrSet("src", posix.relative(posix.dirname(from), src.slice(PICTURES.length)));
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
  const { pathname, hash } = new URL(target, "file:///");
  return `${base}${pathname.slice(1)}.md${hash}`;
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
  if (target.startsWith(ROOT_PAGES)) return `/${target.slice(ROOT_PAGES.length, -".md".length)}${suffix}`;
  return PAGES.test(target) ? `/${target.slice(0, -".md".length)}${suffix}` : `${REPOSITORY}/${target}${suffix}`;
}
