/** A schema of an attacker that aims at an endless check, and a value that would cause it. */
export interface HostileSchema {
  readonly name: string
  readonly schema: unknown
  readonly value: unknown
  /** `fits`, or a part of the message about the value. */
  readonly check: string
  /** `good`, or a part of the message about the schema. */
  readonly review: string
}

const tree = (levels: number, keyword: string): object =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, i) => [
      `n${i}`,
      { [keyword]: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] },
    ]),
  )
const treeOf = (keyword: string, leaf: unknown, value: unknown, check: string): HostileSchema => ({
  name: `a tree of 2^64 references in ${keyword}`,
  schema: { $ref: '#/$defs/n0', $defs: { ...tree(64, keyword), n64: leaf } },
  value,
  check,
  review: 'good',
})
const nested = (levels: number, wrap: (below: unknown) => unknown, leaf: unknown): unknown => {
  let schema = leaf
  for (let i = 0; i < levels; i++) schema = wrap(schema)
  return schema
}
const costly = 'takes more than 400000 steps'
const circle = 'runs in a circle'
const a = 'a'.repeat(100_000)
const catastrophic = [
  '^(a+)+$',
  '^(a|a)*$',
  '^(a|aa)+$',
  '^(.*a){20}$',
  '^([a-z]+)*$',
  '^(\\w+\\s?)*$',
  '(x+x+)+y',
  '^(a?){60}a{60}$',
]
const many = Array.from({ length: 100_000 }, (_, i) => i)
const names = Array.from({ length: 20_000 }, (_, i) => `name${i}`)

export const hostileSchemas: readonly HostileSchema[] = [
  ...catastrophic.map((pattern) => ({
    name: `the pattern ${pattern}`,
    schema: { pattern },
    value: `${'a'.repeat(1_000)}!`,
    check: 'does not match the pattern',
    review: 'good',
  })),
  {
    name: 'a large pattern on a long text',
    schema: { pattern: '^(?:a|b|[cd]{9}){30}$' },
    value: a,
    check: costly,
    review: 'good',
  },
  {
    name: 'a pattern that repeats what repeats',
    schema: { pattern: '((((a{1,9}){1,9}){1,9}){1,9})' },
    value: a,
    check: 'fits',
    review: 'instructions',
  },
  {
    name: 'patterns without number',
    schema: { anyOf: Array.from({ length: 5_000 }, (_, i) => ({ pattern: `^(a+)+${i}$` })) },
    value: a,
    check: 'fits',
    review: 'too many',
  },
  {
    name: 'patterns for names on many fields',
    schema: { patternProperties: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`^(a+)+${i}$`, {}])) },
    value: Object.fromEntries(names.map((name) => [name, 1])),
    check: costly,
    review: 'good',
  },
  {
    name: 'a long text in a pattern that is cheap',
    schema: { pattern: '^a' },
    value: 'a'.repeat(50_000),
    check: 'fits',
    review: 'good',
  },
  treeOf('allOf', {}, 1, costly),
  treeOf('anyOf', false, 1, costly),
  treeOf('oneOf', false, 1, costly),
  { name: 'a reference to itself', schema: { $ref: '#' }, value: 1, check: circle, review: 'good' },
  {
    name: 'references in a circle',
    schema: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } } },
    value: 1,
    check: circle,
    review: 'good',
  },
  { name: 'a circle through not', schema: { not: { $ref: '#' } }, value: 1, check: circle, review: 'good' },
  {
    name: 'references to elsewhere',
    schema: { anyOf: [{ $ref: 'http://169.254.169.254/latest' }, { $ref: 'file:///etc/passwd' }] },
    value: 1,
    check: 'fits',
    review: 'is not in the schema',
  },
  {
    name: 'a reference along __proto__',
    schema: { $ref: '#/__proto__/toString' },
    value: 1,
    check: 'fits',
    review: 'is not in the schema',
  },
  {
    name: 'a reference with broken escapes',
    schema: { $ref: '#/%ff/%' },
    value: 1,
    check: 'fits',
    review: 'is not in the schema',
  },
  {
    name: 'keywords that look into what was checked',
    schema: { unevaluatedProperties: false, $dynamicRef: '#x' },
    value: {},
    check: 'fits',
    review: 'not supported',
  },
  {
    name: 'an enum of a megabyte',
    schema: { items: { enum: Array.from({ length: 100_000 }, (_, i) => `value${i}`) } },
    value: Array.from({ length: 100_000 }, (_, i) => `value${i}`),
    check: 'fits',
    review: 'good',
  },
  {
    name: 'an enum of deep objects',
    schema: { items: { enum: many.slice(0, 2_000).map((i) => nested(20, (below) => ({ below }), i)) } },
    value: Array.from({ length: 20_000 }, () => nested(20, (below) => ({ below }), -1)),
    check: 'It is not one of',
    review: 'good',
  },
  {
    name: 'a const of a megabyte for each item',
    schema: { items: { const: names } },
    value: Array.from({ length: 100 }, () => [...names.slice(1), 'x']),
    check: costly,
    review: 'good',
  },
  {
    name: 'unique items, a hundred thousand',
    schema: { uniqueItems: true },
    value: many,
    check: 'fits',
    review: 'good',
  },
  {
    name: 'unique items that differ at their ends',
    schema: { uniqueItems: true },
    value: Array.from({ length: 3_000 }, (_, i) => `${'x'.repeat(1_000)}${i}`),
    check: 'fits',
    review: 'good',
  },
  {
    name: 'unique items in unique items',
    schema: { $ref: '#/$defs/u', $defs: { u: { uniqueItems: true, items: { $ref: '#/$defs/u' } } } },
    value: nested(100, (below) => [below, ...many.slice(0, 200)], 0),
    check: costly,
    review: 'good',
  },
  {
    name: 'a list that contains what it does not',
    schema: { contains: { contains: { const: 1 } } },
    value: Array.from({ length: 1_000 }, () => Array.from({ length: 1_000 }, () => 0)),
    check: costly,
    review: 'good',
  },
  {
    name: 'twenty thousand required names, a hundred times',
    schema: { items: { required: names } },
    value: Array.from<object>({ length: 100 }).fill(Object.fromEntries(names.map((name) => [name, 1]))),
    check: costly,
    review: 'good',
  },
  {
    name: 'twenty thousand required names that are missing',
    schema: { required: names },
    value: {},
    check: 'name19: It is missing',
    review: 'good',
  },
  {
    name: 'dependencies without end',
    schema: { items: { dependentRequired: Object.fromEntries(names.map((name) => [name, names])) } },
    value: Array.from({ length: 100 }, () => ({})),
    check: costly,
    review: 'good',
  },
  {
    name: 'schemas that are nested two thousand times',
    schema: nested(2_000, (below) => ({ items: below }), false),
    value: nested(100, (below) => [below], 0),
    check: 'fits',
    review: 'nested over 64 levels',
  },
  {
    name: 'schemas and a value that are nested four thousand times',
    schema: nested(4_000, (below) => ({ items: below }), false),
    value: nested(4_000, (below) => [below], 0),
    check: circle,
    review: 'nested over 64 levels',
  },
  {
    name: 'a value that is nested without end',
    schema: { items: { $ref: '#' }, uniqueItems: true },
    value: nested(20_000, (below) => [below], 0),
    check: circle,
    review: 'good',
  },
  { name: 'a step that is no number', schema: { multipleOf: 1e-320 }, value: 1e308, check: 'fits', review: 'good' },
  {
    name: 'a step of zero',
    schema: { multipleOf: 0 },
    value: 1,
    check: 'fits',
    review: '/multipleOf it is not a number above 0',
  },
  {
    name: 'lengths beyond all numbers',
    schema: { minLength: 1e308, maxLength: Number.POSITIVE_INFINITY },
    value: a,
    check: 'at least 1e+308',
    review: 'good',
  },
  {
    name: 'counts that are no counts',
    schema: { minItems: '9', maxItems: -1, required: 'all' },
    value: {},
    check: 'fits',
    review: '/required it is not a list of names',
  },
  {
    name: 'five thousand types',
    schema: { items: { type: Array.from({ length: 5_000 }, () => 'string') } },
    value: many.slice(0, 1_000),
    check: 'is wanted',
    review: 'good',
  },
  {
    name: 'names of the language',
    schema: JSON.parse(
      '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"hasOwnProperty":false},"required":["__proto__","valueOf"]}',
    ),
    value: {},
    check: '__proto__: It is missing',
    review: 'good',
  },
  {
    name: 'no schema at all',
    schema: { properties: { a: 7 }, allOf: [null] },
    value: { a: 1 },
    check: 'fits',
    review: 'neither an object nor true or false',
  },
  {
    name: 'names of keywords that are no own fields',
    schema: Object.create({ type: 'string', not: {} }),
    value: 1,
    check: 'fits',
    review: 'good',
  },
  {
    name: 'any of any of any',
    schema: nested(30, (below) => ({ anyOf: [below, below, below] }), false),
    value: 1,
    check: costly,
    review: 'good',
  },
  {
    name: 'one form in one form',
    schema: nested(60, (below) => ({ anyOf: [below] }), false),
    value: 1,
    check: 'Nothing may stand here',
    review: 'nested over 64 levels',
  },
]
