import type { SeededRandom } from "@leasehold/core/testing";

/** A link from one server to another, and one server that was drawn. */
interface Link {
  readonly one: string;
  readonly other: string;
  readonly victim: string;
}

interface Drawn {
  readonly groupOf: (name: string) => boolean;
  readonly isUnlucky: (link: string) => boolean;
}

/** The rules that say which links are cut. */
const SPLITS = {
  groups: ({ one, other }: Link, { groupOf }: Drawn) => groupOf(one) !== groupOf(other),
  away: ({ one, other, victim }: Link) => one === victim || other === victim,
  deaf: ({ other, victim }: Link) => other === victim,
  mute: ({ one, victim }: Link) => one === victim,
  pairs: ({ one, other }: Link, { isUnlucky }: Drawn) => isUnlucky([one, other].toSorted().join("")),
  links: ({ one, other }: Link, { isUnlucky }: Drawn) => isUnlucky(one + other),
} as const;

export type Split = keyof typeof SPLITS;
export const ALL_SPLITS = Object.keys(SPLITS) as Split[];

/** The links that a split cuts, each as the two names. */
export function cutBy(split: Split, names: readonly string[], victim: string, random: SeededRandom): readonly string[] {
  const drawn = new Map<string, boolean>();
  const draw = (probability: number) => (what: string) => {
    const is = drawn.get(what) ?? random.chance(probability);
    drawn.set(what, is);
    return is;
  };
  const by: Drawn = { groupOf: draw(0.5), isUnlucky: draw(0.3) };
  const links = names.flatMap((one) => names.filter((other) => other !== one).map((other) => ({ one, other, victim })));
  return links.filter((link) => SPLITS[split](link, by)).map(({ one, other }) => one + other);
}
