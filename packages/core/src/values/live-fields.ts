/** How fields are read: of what an object stands for, and of the object itself, which may have been changed. */
export type LiveFields<Of extends object, Fields extends object, Self> = {
  readonly [K in keyof Fields]: (of: Of, self: Self) => Fields[K]
}

/** Keeps what an object stands for from whoever looks into the object: a context of a run knows more than it tells. */
class Held<Of> {
  readonly #of: Of

  constructor(of: Of) {
    this.#of = of
  }

  static open<Of>(held: Held<Of>): Of {
    return held.#of
  }
}

/**
 * Makes what gives objects fields that are read anew each time. They are getters like any others: a copy with `{ ...x }`
 * has their values, one with `Object.create(x)` has them live.
 *
 * A getter in an object literal is another function each time. V8 keeps each pair of accessors among its old objects, so
 * a getter that sees a run keeps all of the run from being freed as long as it is young, and the object is a slow one.
 * These are the same functions for all objects, and see only what they are given.
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
    function get(this: Self & { readonly [held]: Held<Of> }): unknown {
      return read(Held.open(this[held]), this)
    }
    getters.push([name, { get, enumerable: true, configurable: true }])
  }
  return (target, of) => {
    Object.defineProperty(target, held, { value: new Held(of) })
    // One by one: V8 takes twice as long for all at once.
    for (const [name, getter] of getters) Object.defineProperty(target, name, getter)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields were just defined
    return target as typeof target & Fields
  }
}
