import type { Random } from './random.js';

/**
 * What somebody posts about. `{name}` in a sentence is filled from the list of that name, all through a sentence with
 * the same word; `{name2}` is another one.
 */
export interface Topic {
  readonly name: string;
  readonly sentences: readonly string[];
  readonly words: Readonly<Record<string, readonly string[]>>;
  /** Alternative texts of photos. */
  readonly photos: readonly string[];
}

/** One post's text: a sentence or two of the topic, sometimes with an afterthought. */
export function writePost(random: Random, topic: Topic): string {
  const first = random.pick(topic.sentences);
  const sentences = [first];
  if (random.chance(0.3)) sentences.push(random.pick(topic.sentences.filter((sentence) => sentence !== first)));
  const parts = sentences.map((sentence) => fill(random, sentence, topic.words));
  if (random.chance(0.35)) parts.push(random.pick(AFTERTHOUGHTS));
  return parts.join(' ');
}

export const writeReply = (random: Random): string => random.pick(REPLIES);
export const writeRepostNote = (random: Random): string => random.pick(REPOST_NOTES);

function fill(random: Random, sentence: string, words: Topic['words']): string {
  const chosen = new Map<string, string>();
  const choose = (slot: string): string => {
    const name = slot.replace('2', '');
    const left = (words[name] ?? COMMON[name] ?? [name]).filter((word) => ![...chosen.values()].includes(word));
    const word = chosen.get(slot) ?? random.pick(left);
    chosen.set(slot, word);
    return word;
  };
  const filled = sentence.replace(/\{(\w+)\}/g, (_, slot: string) => choose(slot));
  return filled.replace(/(?<=^|[.!?] )\p{Ll}/gu, (letter) => letter.toUpperCase());
}

const COMMON: Topic['words'] = {
  weekday: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
  few: ['two', 'three', 'four', 'five', 'six'],
  minutes: ['ten', 'fifteen', 'twenty', 'forty', 'ninety'],
  who: ['my sister', 'my neighbour', 'my dad', 'an old friend', 'a colleague', 'the kid next door', 'my grandmother'],
  place: [
    'by the harbour',
    'behind the station',
    'near the old mill',
    'on the north side',
    'up the hill',
    'by the canal',
  ],
};

export const TOPICS: readonly Topic[] = [
  {
    name: 'baking',
    sentences: [
      'The sourdough finally has {crumb}. Only took {few} years of {weekday} mornings.',
      'Put {spice} into the {bake} and now nobody in this house talks to me, they only eat.',
      'Rule of the kitchen: whoever opens the oven early has to wash the {tool}.',
      '{who} asked for the {bake} recipe. It is written on the back of a bus ticket, so good luck to us all.',
      'Left the dough in the fridge for {few} days by accident. Best {bake} I have ever made.',
      'Today in small victories: a {bake} that came out of the tin in one piece.',
      'Does anybody else weigh water? A gram is a millilitre and I refuse to look for the {tool} again.',
    ],
    words: {
      crumb: ['an open crumb', 'a proper ear', 'a crust that sings when it cools', 'holes one can look through'],
      spice: ['cardamom', 'a little rye', 'orange peel', 'black sesame', 'smoked salt', 'brown butter'],
      bake: ['banana bread', 'focaccia', 'plum cake', 'cinnamon knots', 'rye loaf', 'apple tart', 'lemon drizzle'],
      tool: ['whisk', 'good bowl', 'measuring jug', 'bench scraper'],
    },
    photos: ['A loaf on a wooden board', 'Cinnamon knots on a tray', 'Flour on a blue table'],
  },
  {
    name: 'garden',
    sentences: [
      'First {plant} of the year, and the snails know it too.',
      'Planted {plant} where the {plant2} used to be. The soil remembers, says {who}.',
      'The {bird} is back in the hedge. It has opinions about my {garden}.',
      'Rain at last. You can hear the {garden} drinking.',
      'Anyone want {plant}? I put in {few} seeds and apparently each of them took it personally.',
      'Spent the whole {weekday} moving the compost from one corner to another. Recommended.',
      'A toad has moved in under the {garden}. We have agreed on terms.',
    ],
    words: {
      plant: ['courgettes', 'sweet peas', 'broad beans', 'tomatoes', 'nasturtiums', 'rhubarb', 'chard', 'dahlias'],
      bird: ['wren', 'blackbird', 'robin', 'redstart', 'magpie'],
      garden: ['rain barrel', 'potato bed', 'balcony boxes', 'cold frame', 'herb corner'],
    },
    photos: ['Tomatoes on a balcony', 'A robin on a spade', 'Sweet peas along a fence'],
  },
  {
    name: 'cycling',
    sentences: [
      '{distance} before breakfast, with a headwind in both directions as usual.',
      'New {part} fitted. The bike is silent now and I keep looking down to see if it is still there.',
      'To the person who waited and waved me through {place}: you made my {weekday}.',
      'Flat tyre {place}, {few} strangers stopped, one had a pump and another one had plums.',
      'The cycle path {place} is finally open again. Smooth as a table.',
      'Climbed the {hill} without stopping. Do not ask what I looked like at the top.',
      'Spent {minutes} minutes looking for a rattle. It was the key in my pocket.',
    ],
    words: {
      distance: ['Thirty kilometres', 'Fifty kilometres', 'Forty slow kilometres', 'A very wet twenty kilometres'],
      part: ['chain', 'bottom bracket', 'brake pads', 'saddle', 'pair of tyres', 'dynamo light'],
      hill: ['quarry road', 'vineyard hill', 'chapel climb', 'old pass'],
    },
    photos: ['A bicycle against a stone wall', 'An empty road at dawn', 'Muddy shoes on a doorstep'],
  },
  {
    name: 'books',
    sentences: [
      'Finished {book} on the tram and missed my stop by {few} stations. Worth it.',
      'The second-hand shop {place} had {book} for the price of a coffee.',
      'Book club is reading {book}. I am on page {few} and already taking sides.',
      '{who} lent me {book} years ago. I have started it now, before anyone asks for it back.',
      'There is a pressed {thing} in this library book. Left it where it was.',
      'Unpopular opinion: it is fine to stop at page fifty. Life is short and {book} is not.',
      'Reading {book} aloud in the evenings. The dog is the most attentive listener.',
    ],
    words: {
      book: [
        'a history of lighthouses',
        'that novel about the two cartographers',
        'a very long book about salt',
        'the moss book everybody talks about',
        'a crime story set in a post office',
        'the poems from my school days',
        'a biography of a clockmaker',
      ],
      thing: ['fern', 'train ticket', 'four-leaf clover', 'shopping list from 1987'],
    },
    photos: ['A stack of books on a windowsill', 'A library reading room'],
  },
  {
    name: 'code',
    sentences: [
      'Deleted {lines} lines today and nothing broke. I am trying not to think about why they were there.',
      'The bug was {bug}. It is always {bug}.',
      'Wrote the test first, for once. It failed for the wrong reason, which was the right reason.',
      'Our build went from {minutes} minutes to two. I do not know what to do with the coffee breaks now.',
      'Code review of the day: "{review}"',
      'Explained {bug} to {who}. Understood it myself around the second sentence.',
      'A commit message should say why. "fix" is a cry for help.',
      'Turned on the strict flag. See you in {few} days.',
    ],
    words: {
      lines: ['four hundred', 'twelve hundred', 'ninety', 'three thousand'],
      bug: [
        'a time zone',
        'an off-by-one',
        'the cache',
        'DNS',
        'a missing await',
        'a trailing space',
        'floating point',
      ],
      review: [
        'I like it, but who will be on call for it?',
        'This comment is better than the code.',
        'Could this be a table?',
        'Delete it and see who notices.',
      ],
    },
    photos: ['A laptop on a train table', 'A whiteboard full of arrows'],
  },
  {
    name: 'coffee',
    sentences: [
      'The new place {place} pulls a {drink} that tastes of {note}. I went back twice, for science.',
      'Ground it one step finer and got {note}. Coffee is just very small adjustments and hope.',
      'My {drink} this morning was so good that I apologised to the last {few}.',
      'The kettle and I both took {minutes} minutes to get going today.',
      '{who} drinks {drink} after dinner and sleeps like a stone. I had one at three and reorganised the attic.',
      'Brought my own cup, got a nod from the barista. That nod will carry me until {weekday}.',
    ],
    words: {
      drink: ['flat white', 'filter coffee', 'cortado', 'espresso', 'cold brew'],
      note: ['apricots', 'toast and honey', 'blackcurrant', 'a forest after rain', 'burnt hope', 'cocoa'],
    },
    photos: ['A cup on a marble counter', 'A hand grinder and a kettle'],
  },
  {
    name: 'cats and dogs',
    sentences: [
      'The {pet} has discovered the {spot}. We will not be getting the {spot} back.',
      'Vet says the {pet} is in perfect health and "very talkative".',
      'Bought a basket. The {pet} sleeps in the box it came in, and I sit on the floor next to it.',
      'Walked {minutes} minutes in the rain because the {pet} wanted to look at one particular hedge.',
      'The {pet} barked at its own reflection and then at me, for having seen it.',
      '{who} is looking after the {pet} this week. I get {few} photos a day and it is not enough.',
      'Three in the morning. The {pet} has something to say about the {spot}.',
    ],
    words: {
      pet: ['old cat', 'new puppy', 'ginger cat', 'terrier', 'greyhound', 'tabby', 'rescue dog'],
      spot: ['laundry basket', 'warm spot on the router', 'good armchair', 'top of the piano', 'windowsill'],
    },
    photos: ['A ginger cat in a cardboard box', 'A dog looking out of a window', 'Two paws on a windowsill'],
  },
  {
    name: 'music',
    sentences: [
      'Choir practice: {few} altos, one tenor, and a {instrument} that nobody invited.',
      'Learning the {instrument} at my age. The neighbours are learning patience.',
      'The street musician {place} played {piece} and the whole queue stopped talking.',
      'Found my old tapes. {piece} still starts in the middle, exactly as I recorded it off the radio.',
      'Slowed {piece} down to half speed to practise. It is a much sadder song now, and I like it.',
      'Concert on {weekday}, {minutes} minutes from here, and I have a ticket. Life is good.',
      'Restrung the {instrument}. It goes out of tune if you look at it.',
    ],
    words: {
      instrument: ['accordion', 'cello', 'clarinet', 'banjo', 'double bass', 'harmonium', 'ukulele'],
      piece: ['a waltz', 'that one slow movement', 'an old film theme', 'a lullaby', 'a song my mother hums'],
    },
    photos: ['A cello case on a bus seat', 'Sheet music with pencil marks'],
  },
  {
    name: 'the sky',
    sentences: [
      'Clear tonight. {object} above the {roof} at {hour}, no telescope needed.',
      'Got {object} on attempt number {few}. It is a smudge, but it is my smudge.',
      'Stood in a field with {who} and counted {few} meteors and one very confused owl.',
      'Reminder that the light from {object} left before anybody you know was born.',
      'Clouds. Clouds again. There is a whole universe up there and I have clouds.',
      'The moon came up behind the {roof} like it had been waiting for a cue.',
      'Red torch, warm socks, thermos. {object}, here we come.',
    ],
    words: {
      object: ['Jupiter', 'Saturn', 'the Pleiades', 'the Orion nebula', 'Andromeda', 'the space station', 'Vega'],
      roof: ['water tower', 'bakery', 'church', 'gasworks', 'supermarket'],
      hour: ['ten', 'half past nine', 'midnight', 'quarter to five'],
    },
    photos: ['Star trails over a barn', 'The moon behind a chimney', 'A smudge that is a galaxy'],
  },
  {
    name: 'running',
    sentences: [
      '{distance} along the river, slowly, with the {bird} overtaking me.',
      'Signed up for the autumn half. Please remind me of this mood in week {few}.',
      'Ran without a watch today. No idea how far. Lovely.',
      'The hard part is the front door. After that it is only legs.',
      'Overtaken {place} by {who}, who was carrying shopping.',
      'Rest day. I have looked at my shoes {few} times.',
      '{minutes} minutes easy, as the plan says. The plan did not mention the hill.',
    ],
    words: {
      distance: ['Five kilometres', 'Eight kilometres', 'Twelve kilometres', 'A gentle three'],
      bird: ['ducks', 'swans', 'coots', 'geese'],
    },
    photos: ['A river path in fog', 'Running shoes by a door'],
  },
  {
    name: 'city life',
    sentences: [
      'The {shop} {place} has a new sign, hand-painted, slightly crooked, perfect.',
      'Tram driver just announced the next stop as "the one with the good {food}". Correct.',
      'Somebody left a {thing} on the wall with a note: "works, needs a home". It has one now.',
      'Market on {weekday} morning: {food}, gossip, and {few} kinds of plums.',
      'Our street had its party yesterday. Everyone brought {food}. Nobody brought a spoon.',
      'The lift is out of order and I have met {few} neighbours on the stairs. Maybe leave it.',
      'The fountain {place} is running again. Officially summer, whatever the calendar says.',
    ],
    words: {
      shop: ['key cutter', 'bookbinder', 'noodle bar', 'flower stall', 'hardware shop', 'barber'],
      food: ['dumplings', 'flatbread', 'cherries', 'potato salad', 'samosas', 'pickles'],
      thing: ['lamp', 'typewriter', 'rocking chair', 'globe', 'box of records'],
    },
    photos: ['A market stall with plums', 'A tram in the evening', 'A crooked hand-painted sign'],
  },
  {
    name: 'making things',
    sentences: [
      'Fixed the {object} with {fix}. It will outlive us all.',
      'Measured twice, cut once, cut the wrong {object}.',
      'The repair café {place} mended {few} toasters, a lamp and my faith in screws.',
      'Sanded the {object} for {minutes} minutes and found a completely different wood underneath.',
      '{who} showed me how to sharpen a chisel. I have been showing everybody my forearm since.',
      'Knitting update: the {garment} now has {few} sleeves. I am told that is not the goal.',
      'There is always one screw left over. I keep them in a jar, like a diary.',
    ],
    words: {
      object: ['kitchen stool', 'bookshelf', 'radio', 'garden gate', 'drawer', 'sewing machine'],
      fix: ['a bent paperclip', 'wood glue and patience', 'a part from an old bicycle', 'one well-placed washer'],
      garment: ['cardigan', 'sock', 'hat', 'jumper'],
    },
    photos: ['A workbench with shavings', 'A half-finished jumper', 'A jar of screws'],
  },
  {
    name: 'films',
    sentences: [
      'Saw {film} in the small cinema {place}. {few} people in the audience, all of us crying.',
      'The projector broke halfway through {film} and the owner told us the ending. Better than the film, I suspect.',
      'Rewatched {film}. As a child I was on the wrong side.',
      '{film}: nothing happens, slowly, and I would not cut a second.',
      'Film night with {who}. We chose for {minutes} minutes and watched for thirty.',
      'Stay for the credits, there is a {credit} and they deserve it.',
    ],
    words: {
      film: [
        'the one about the ferry pilot',
        'that silent comedy with the ladder',
        'the documentary about bees',
        'an old western with no horses',
        'the heist film in the cheese factory',
        'the long one about the lighthouse keeper',
      ],
      credit: ['goat trainer', 'second assistant to the rain', 'thank-you to a bakery', 'hand double'],
    },
    photos: ['The foyer of a small cinema', 'Two tickets on a red seat'],
  },
  {
    name: 'the outdoors',
    sentences: [
      'Up before the sun and {minutes} minutes later above the clouds. {view}.',
      'Counted {few} herons {place} this morning. They counted me too, I think.',
      'The hut had soup, a stove and {view}. I may not come down.',
      'Took the wrong turn at the {mark} and found the best picnic spot of the year.',
      'Swam in the lake. It was {cold}. I have never felt so awake.',
      'Packed for rain, got sun. Packed for sun on {weekday}, well.',
      'Chanterelles! I will not say where. Not even to {who}.',
    ],
    words: {
      view: ['Not a sound', 'A whole valley of fog', 'You could see the sea', 'Frost on every single needle'],
      mark: ['split oak', 'blue marker', 'second stile', 'stone with the painted owl'],
      cold: ['eleven degrees', 'not warm', 'character-building', 'the temperature of a firm handshake'],
    },
    photos: ['Fog in a valley from above', 'A lake at sunrise', 'A heron in reeds', 'A mountain hut with smoke'],
  },
  {
    name: 'teaching',
    sentences: [
      'A pupil asked today {question} I said I would find out by {weekday}.',
      'Marked {few} essays about {subject}. One was about a horse instead and it was the best.',
      'Field trip to {subject}: nobody lost, one shoe lost, everybody muddy.',
      'The quietest kid in class explained {subject} to the whole room today. I just held the chalk.',
      'Best excuse of the week: "{excuse}"',
      'End of term. {few} cards, one cactus, and a drawing of me with very long arms.',
    ],
    words: {
      question: [
        'why the sea is not full by now.',
        'who decided on the order of the alphabet.',
        'whether shadows weigh anything.',
        'what numbers are made of.',
      ],
      subject: ['tides', 'fractions', 'the wetlands', 'volcanoes', 'the water works', 'magnets'],
      excuse: [
        'my goat was sad',
        'I did it in my head',
        'it is in the other bag, at the other house',
        'the printer is on holiday',
      ],
    },
    photos: ['A cactus on a desk', 'Drawings on a classroom wall'],
  },
];

const AFTERTHOUGHTS = [
  'More tomorrow.',
  'No regrets.',
  'Tell me it is not just me.',
  'I will report back.',
  'Send help, or at least snacks.',
  'Ten out of ten, would do it again.',
  'Photos when I find the cable.',
  'Anyway, good morning.',
  'That is the whole story.',
  'How is your week going?',
  'Small things.',
  'You had to be there.',
];

const REPLIES = [
  'This made my day.',
  'Same here, every single time.',
  'I needed to read this today, thank you.',
  'Photos, please!',
  'Which one is it? Asking for a friend.',
  'My grandmother swore by exactly this.',
  'Now I want to try it too.',
  'Wonderful.',
  'We should do this together some time.',
  'I laughed out loud on the bus.',
  'Where is that? It looks familiar.',
  'Please write more about it.',
  'Adding this to my list.',
  'The way you tell it!',
  'I had the opposite experience, but I like yours better.',
  'Congratulations! Well earned.',
  'Could you share how you did it?',
  'Bookmarked for the weekend.',
  'Oh no. And then?',
  'You are an inspiration to the rest of the street.',
];

const REPOST_NOTES = ['', '', 'This.', 'Everyone should see this.', 'From a friend, and so true.', 'Made me smile.'];
