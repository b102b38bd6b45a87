/** How fields are read: from the source object, and from the object itself, which may have been changed. */
export type LiveFields<Of extends object, Fields extends object, Self> = {
  readonly [K in keyof Fields]: (of: Of, self: Self) => Fields[K]
}

/** Hides the source object from code that inspects the context: a context of a run knows more than it exposes. */
class HiddenSource<Of> {
  readonly #of: Of

  constructor(of: Of) {
    this.#of = of
  }

  static open<Of>(held: HiddenSource<Of>): Of {
    return held.#of
  }
}

/**
 * Returns a function that gives objects fields which are computed at each access. They are plain getters: a copy with
 * `{ ...x }` has their values, one with `Object.create(x)` has them live.
 *
 * A getter in an object literal is a new function each time, and V8 keeps each pair of accessors in its old generation. A
 * getter that closes over a run would thus keep the run in memory and make the object slow. Here all objects share the
 * same functions, which see only their source object.
 *
 * @example
 * const withAge = liveFields({ age: ({ born }: { born: number }) => Date.now() - born })
 * withAge({ name: 'Ann' }, { born: 0 }).age
 */
export function liveFields<Of extends object, Fields extends object, Self extends object = object>(
  fields: LiveFields<Of, Fields, Self>,
): <T extends Self>(target: T, of: Of) => T & Fields {
  const held = Symbol('live')
  const getters: (readonly [name: string, getter: PropertyDescriptor])[] = []
  for (const name in fields) {
    const read = fields[name]
    function get(this: Self & { readonly [held]: HiddenSource<Of> }): unknown {
      return read(HiddenSource.open(this[held]), this)
    }
    getters.push([name, { get, enumerable: true, configurable: true }])
  }
  return (target, of) => {
    Object.defineProperty(target, held, { value: new HiddenSource(of) })
    // One by one: V8 takes twice as long for all at once.
    for (const [name, getter] of getters) Object.defineProperty(target, name, getter)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields are defined above
    return target as typeof target & Fields
  }
}
